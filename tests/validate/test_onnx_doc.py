"""The page lists every rule as it is."""

from __future__ import annotations

from pathlib import Path

from tools.validate.findings import Rule
from tools.validate.rules import onnx as rules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validate-onnx.md"


def row(rule: Rule) -> str:
    return f"| {rule.code} | {rule.name} | {rule.severity.value} | {rule.cause} |"


def missing(page: str) -> list[str]:
    known = [rule for rule in vars(rules).values() if isinstance(rule, Rule)]
    return [row(rule) for rule in known if row(rule) not in page.splitlines()]


def test_every_rule_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert missing(page) == []
    assert page.count("\n| O") == len([r for r in vars(rules).values() if isinstance(r, Rule)])


def test_a_row_that_is_not_there_is_found() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert missing(page.replace(row(rules.LEAK), "")) == [row(rules.LEAK)]


def test_codes_and_names_are_used_once() -> None:
    known = [rule for rule in vars(rules).values() if isinstance(rule, Rule)]
    assert len({rule.code for rule in known}) == len({rule.name for rule in known}) == len(known)

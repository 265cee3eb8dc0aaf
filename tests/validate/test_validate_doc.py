"""docs/validate.md lists the rules as they are."""

from __future__ import annotations

from tests.conftest import ROOT
from tools.validate.catalogue import RULES

PAGE = ROOT / "docs" / "validate.md"
FAMILIES = "SCRE"


def table() -> list[str]:
    """A line a rule."""
    return [
        f"| {rule.code} | {rule.name} | {rule.severity.value} |"
        for rule in RULES.values()
        if rule.code[0] in FAMILIES
    ]


def test_the_page_lists_every_rule_and_no_other() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if line[:3] in {f"| {family}" for family in FAMILIES}]
    assert listed == table()

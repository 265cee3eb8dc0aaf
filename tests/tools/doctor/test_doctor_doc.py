"""The page about the doctor names every cause, and every option."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from pathlib import Path

from tools.doctor.options import add_arguments
from tools.validate.findings import Rule
from tools.validate.rules import live

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "doctor.md").read_text(encoding="utf-8")
RULES = [value for value in vars(live).values() if isinstance(value, Rule)]


def table(page: str) -> list[tuple[str, str]]:
    """Codes and names, as the page has them."""
    return re.findall(r"^\| (D\d{3}) \| ([a-z-]+) \|", page, flags=re.MULTILINE)


def test_the_page_names_every_cause() -> None:
    assert table(PAGE) == [(rule.code, rule.name) for rule in RULES]


def test_a_cause_that_is_left_out_is_seen() -> None:
    assert len(table(PAGE.replace("| D206 |", "| |"))) == len(RULES) - 1


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)


def test_the_page_names_every_option() -> None:
    parser = ArgumentParser(add_help=False)
    add_arguments(parser)
    for action in parser._actions:
        assert action.option_strings[0] in PAGE

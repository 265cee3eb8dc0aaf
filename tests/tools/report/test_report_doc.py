"""The page about the report names every option."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from tools.report.options import add_arguments

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "report.md").read_text(encoding="utf-8")


def test_the_page_names_every_option() -> None:
    parser = ArgumentParser(add_help=False)
    add_arguments(parser)
    options = [action.option_strings[0] for action in parser._actions if action.option_strings]
    assert options == ["--html", "--markdown", "--csv"]
    assert all(f"| `{option} FILE` |" in PAGE for option in options)

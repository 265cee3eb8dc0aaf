"""The page names every option and every field of a record, and its commands mean something."""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.tools.bench.test_bench_options import asked
from tools.bench.options import add_arguments
from tools.record.record import Cell, Record
from tools.record.samples import OK, OUTCOMES

PAGE = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^tandem bench (.*)$", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_can_be_run(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)  # `samples/` is there
    one = asked(*shlex.split(command), "--out", str(tmp_path / "record.json"))
    one.check()


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 5


def test_the_page_names_every_option() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    for action in parser._actions:
        assert action.option_strings[0] in PAGE


def test_the_page_names_every_field_of_a_record() -> None:
    apart = {"kind", "created", "duration_s"}
    for field in (*fields(Record), *fields(Cell)):
        assert field.name in apart or field.name in PAGE


def test_the_page_names_every_way_to_fail() -> None:
    for place, name in enumerate(OUTCOMES):
        assert place == OK or f"`{name}`" in PAGE

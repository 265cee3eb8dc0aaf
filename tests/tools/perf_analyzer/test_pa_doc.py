"""The page about perf_analyzer says what is pinned and what was measured, and its commands run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.tools.bench.test_bench_options import asked
from tools.perf_analyzer.install import NEW, OLD

PAGE = (ROOT / "docs" / "perf-analyzer.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^tandem bench (.*)$", PAGE, flags=re.MULTILINE)
(RECORD,) = re.findall(r"\]\(\.\./(benchmarks/records/frozen-.*?\.json)\)", PAGE)


def measured() -> dict[str, list[str]]:
    rows = json.loads((ROOT / RECORD).read_text(encoding="utf-8"))["rows"]
    return {
        row["way"]: [f"{one['p95_ms']:.0f}" for one in rows if one["way"] == row["way"]]
        for row in rows
    }


def test_the_table_is_the_record() -> None:
    for way, p95_ms in measured().items():
        assert f"| {way} | {' | '.join(p95_ms)} |" in PAGE
    assert len(measured()) == 5


def test_the_versions_are_those_that_are_pinned() -> None:
    for wheel in (*NEW, OLD[0]):
        name, version = wheel.pin.split("==")
        assert f"`{name}`" in PAGE
        assert version in PAGE


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_can_be_run(command: str, tmp_path: Path) -> None:
    asked(*shlex.split(command), "--out", str(tmp_path / "record.json")).check()

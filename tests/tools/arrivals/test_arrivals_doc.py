"""The page about arrivals names every option, and what it shows works."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from pathlib import Path

import pytest

from tools.arrivals import formats
from tools.arrivals.options import add_arguments
from tools.load.arrivals import pattern
from tools.load.arrivals_file import read

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "arrivals.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_names_every_option_and_every_field() -> None:
    parser = ArgumentParser(add_help=False)
    add_arguments(parser)
    names = {action.option_strings[0] for action in parser._actions}
    assert names == set(re.findall(r"^\| `(--[a-z-]+)", PAGE, flags=re.MULTILINE))
    for field in (*formats.START_FIELDS, *formats.OTHER_FIELDS, *formats.DURATION_FIELDS):
        assert f"`{field}`" in PAGE


def test_the_file_on_the_page_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(block("json"))
    assert read(tmp_path / "a.json").times_s.tolist() == [0.0, 0.1, 0.1, 1.5]


def test_the_spike_on_the_page_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block("python"), "arrivals.md", "exec"), {})
    times_s = read(tmp_path / "spike.json").times_s
    # 800 and 40 are expected in it; five deviations.
    assert 690 < ((times_s >= 30) & (times_s < 32)).sum() < 990


def test_the_pattern_on_the_page_is_the_default() -> None:
    assert pattern("bursty").name in PAGE

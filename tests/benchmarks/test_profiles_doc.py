"""The table of docs/profiles.md says what ensemble/profiles.py sets, and some values are fixed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ensemble.profiles import PROFILES, STAGES, Profile, Setting

ROOT = Path(__file__).resolve().parents[2]
DOC = ROOT / "docs" / "profiles.md"
COLUMNS = ["Profile", "For whom", "Settings", "Why", "Measured", "What it costs", "Record"]


def table(text: str) -> dict[str, dict[str, str]]:
    """The rows of the table of profiles by their first cell, each by column."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    start = rows.index(COLUMNS)
    found = {}
    for row in rows[start + 2 :]:
        if len(row) != len(COLUMNS):
            break
        cells = dict(zip(COLUMNS, row, strict=True))
        found[cells["Profile"].strip("`")] = cells
    return found


def said(setting: Setting) -> str:
    """A setting as the table writes it."""
    value = str(setting.value).lower() if isinstance(setting.value, bool) else setting.value
    return f"{setting.field}: {value}"


def faults(text: str, profiles: dict[str, Profile]) -> list[str]:
    """What differs between the table and the profiles, one line each."""
    rows = table(text)
    found = [f"{name}: in only one of both" for name in sorted(rows.keys() ^ profiles.keys())]
    for name in rows.keys() & profiles.keys():
        expected = [said(setting) for setting in profiles[name].settings]
        if not expected:
            expected = ["dynamic_batching {}"] if profiles[name].batches else ["dynamic_batching"]
        got = list(re.findall(r"`([^`]+)`", rows[name]["Settings"]))
        stages = {stage for setting in profiles[name].settings for stage in setting.stages}
        if stages and stages != set(STAGES):
            expected += [stage for stage in STAGES if stage in stages]
        if sorted(got) != sorted(expected):
            found.append(f"{name}: expected {expected}, got {got}")
    return found


@pytest.fixture(scope="module")
def text() -> str:
    return DOC.read_text(encoding="utf-8")


def test_the_table_holds_every_profile_and_every_value(text: str) -> None:
    assert faults(text, PROFILES) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max_queue_delay_microseconds: 1000`", "max_queue_delay_microseconds: 2000`"),
        ("`preferred_batch_size: [2, 4, 8]`", "none"),
        ("`dynamic_batching {}`", "`dynamic_batching {}` `priority_levels: 2`"),
        ("| `bulk` |", "| `balk` |"),
    ],
)
def test_a_wrong_value_a_missing_one_and_one_too_many_are_found(
    text: str, old: str, new: str
) -> None:
    assert text.count(old) >= 1
    assert faults(text.replace(old, new), PROFILES)


def records(cell: str) -> list[Path]:
    """The files that a cell links to."""
    return [(DOC.parent / target).resolve() for target in re.findall(r"\]\(([^)]+)\)", cell)]


def test_every_row_names_records_that_were_made_with_its_values(text: str) -> None:
    for name, cells in table(text).items():
        paths = records(cells["Record"])
        assert paths, name
        now = {stage: PROFILES[name].dynamic_batching(stage) for stage in STAGES}
        for path in paths:
            assert path.parent == ROOT / "benchmarks" / "records", name
            record = json.loads(path.read_text(encoding="utf-8"))
            assert record["config"]["profiles"][name] == now, f"{name}: other values in {path.name}"


def test_the_recipes_are_kept_exact() -> None:
    for stage in STAGES:
        assert PROFILES["recipe-interactive"].dynamic_batching(stage) == {
            "preferred_batch_size": [2, 4, 8],
            "max_queue_delay_microseconds": 1_000,
        }
        assert PROFILES["recipe-bulk"].dynamic_batching(stage) == {
            "preferred_batch_size": [16, 32, 64],
            "max_queue_delay_microseconds": 10_000,
        }


def test_interactive_is_tritons_default_batcher_and_baseline_has_none() -> None:
    for stage in STAGES:
        assert PROFILES["interactive"].dynamic_batching(stage) == {}
        assert PROFILES["baseline"].dynamic_batching(stage) is None


def test_overload_refuses_by_timeout_and_bounds_no_queue() -> None:
    for name, profile in PROFILES.items():
        fields = [setting.field for setting in profile.settings]
        assert not any("max_queue_size" in field for field in fields), name
    policy = (PROFILES["overload"].dynamic_batching("classifier") or {})["default_queue_policy"]
    assert policy["timeout_action"] == "REJECT"
    assert policy["default_timeout_microseconds"] > 0


def test_priority_has_two_levels_at_every_stage() -> None:
    for stage in STAGES:
        batching = PROFILES["priority"].dynamic_batching(stage)
        assert batching == {"priority_levels": 2, "default_priority_level": 2}

"""The table: a row for each load, target and protocol; what is unknown is a dash."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.bench.bench_fakes import samples
from tools.bench.report import as_text
from tools.record.record import Cell, Kind, Load, Record, StageCounts, Target

STAGES = (
    StageCounts("classifier", 40, 0, 40, 16, 1.0, 0.1, 0.1, 0.7, 0.1),
    StageCounts("ensemble", 40, 0, 40, 40, 1.0, 0.0, 0.1, 0.8, 0.1),
)
LOADS = (Load("closed", 16.0), Load("closed", 4.0), Load("open", 20.0, "poisson"))


def record(*cells: Cell) -> Record:
    targets = tuple(
        Target(name, "triton 2.51.0", "ensemble", steps=("classifier",)) for name in "ab"
    )
    return Record("bench", "", {}, (), "tandem", 0, None, (Kind(),), targets, cells)


def cells(rounds: int, outcome: str = "ok", stages: tuple[StageCounts, ...] = STAGES) -> list[Cell]:
    return [
        Cell(n, target, load, "grpc", 1.0, samples(40, outcome), stages)
        for n in range(rounds)
        for load in LOADS
        for target in "ab"
    ]


def rows(*of: Cell) -> list[list[str]]:
    """Cells of the table, without its head."""
    text = as_text(record(*of), Path("record.json"))
    lines = text.splitlines()[1:7]
    return [[word.strip() for word in line.split("  ") if word] for line in lines]


def test_loads_are_in_order_and_targets_beside_each_other() -> None:
    assert [row[:2] for row in rows(*cells(3))] == [
        ["4 callers", "a"],
        ["4 callers", "b"],
        ["16 callers", "a"],
        ["16 callers", "b"],
        ["20/s poisson", "a"],
        ["20/s poisson", "b"],
    ]


def test_a_row_has_the_figures_with_their_interval_and_the_batch_of_each_stage() -> None:
    row = rows(*cells(3))[0]
    assert row[3:] == ["10 [10 to 10]", "10 [10 to 10]", "-", "2.5", "3", "0"]


@pytest.mark.parametrize("stages", [(), STAGES[:1]])
def test_a_silent_server_has_a_dash_and_a_plain_model_its_own_batch(
    stages: tuple[StageCounts, ...],
) -> None:
    row = rows(*cells(3, stages=stages))[0]
    assert row[6] == ("2.5" if stages else "-")


def test_failures_are_named_by_cause() -> None:
    row = rows(*cells(3, "timed_out"))[0]
    assert row[-1] == "120 timed_out"


def test_a_name_can_not_move_the_cursor() -> None:
    odd = Cell(0, "a", Load("open", 20.0, "\x1b[2Jx"), "grpc", 1.0, samples(40))
    assert "\x1b" not in as_text(record(odd), Path("record.json"))

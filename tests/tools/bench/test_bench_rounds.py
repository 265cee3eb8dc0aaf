"""Ctrl-C, a dead server or the end of the time: what was measured is kept, and said."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ensemble.errors import BackendFailure
from tests.tools.bench.bench_fakes import samples, still_clock
from tools.bench import keeper
from tools.bench.cell import INTERRUPTED
from tools.bench.engine import Tick
from tools.bench.keeper import Keeper
from tools.bench.plan import Plan, Side, Step
from tools.bench.progress import Progress, in_minutes
from tools.bench.rounds import Rounds
from tools.record.record import Cell, Load, Record, read

LOADS = (Load("closed", 1.0), Load("closed", 4.0))
PLAN = Plan(LOADS, (Side("a", "grpc"), Side("b", "grpc")), rounds=3, duration_s=1.0, seed=0)
Saved = list[tuple[int, bool]]


def cell(step: Step, unused: str | None = None) -> Cell:
    return Cell(step.round, step.side.target, step.load, "grpc", 1.0, samples(5), unused=unused)


def raising(at: int, error: BaseException) -> Callable[[Step, Tick], Cell]:
    """Measures until it is the turn of cell ``at``."""
    count = [0]

    def measure(step: Step, tick: Tick) -> Cell:
        tick(0.5)
        count[0] += 1
        if count[0] > at:
            raise error
        return cell(step)

    return measure


def rounds(
    measure: Callable[[Step, Tick], Cell], end_s: float | None = None
) -> tuple[Rounds, Saved, io.StringIO]:
    saved: Saved = []
    err, clock = io.StringIO(), still_clock()
    progress = Progress(PLAN, err, clock)

    def save(cells: list[Cell], interrupted: bool) -> None:
        saved.append((len(cells), interrupted))

    return Rounds(PLAN, measure, save, progress, clock, end_s), saved, err


def test_every_round_is_saved_when_it_is_done() -> None:
    one, saved, err = rounds(lambda step, _: cell(step))
    one.run()
    assert saved == [(4, False), (8, False), (12, False), (12, False)]
    assert not one.interrupted
    assert "round 2 of 3" in err.getvalue()


@pytest.mark.parametrize("at", [1, 3, 4, 9])
def test_ctrl_c_between_requests_keeps_every_cell_before(at: int) -> None:
    one, saved, _ = rounds(raising(at, KeyboardInterrupt()))
    one.run()
    assert one.interrupted
    assert saved[-1] == (at, True)


def test_ctrl_c_within_a_cell_keeps_that_cell_as_unused() -> None:
    def measure(step: Step, _: Tick) -> Cell:
        return cell(step, INTERRUPTED if step.load.value == 4 else None)

    one, saved, _ = rounds(measure)
    one.run()
    assert saved == [(3, True)]
    assert [one.unused for one in one.cells] == [None, None, INTERRUPTED]


def test_ctrl_c_before_the_first_cell_writes_nothing() -> None:
    one, saved, _ = rounds(raising(0, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        one.run()
    assert saved == []


def test_a_server_that_dies_is_told_and_what_was_measured_is_kept() -> None:
    one, saved, _ = rounds(raising(6, BackendFailure("the server ended")))
    with pytest.raises(BackendFailure):
        one.run()
    assert saved == [(4, False), (6, False)]


def test_no_round_begins_that_would_not_end_in_time() -> None:
    one, saved, err = rounds(lambda step, _: cell(step), end_s=0.0)
    one.run()
    assert saved[-1] == (4, False)
    assert "after 1 of 3 rounds" in err.getvalue()


@pytest.fixture
def record() -> Record:
    return Record("bench", "", {}, (), "tandem", 0, None, (), (), ())


def test_ctrl_c_while_the_record_is_written_comes_after_it(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.json"
    write = keeper.write

    def interrupted_write(of: Record, to: Path) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        write(of, to)

    monkeypatch.setattr(keeper, "write", interrupted_write)
    step = next(PLAN.steps(0))
    with pytest.raises(KeyboardInterrupt):
        Keeper(path, record).save([cell(step)], False)
    assert len(read(path).cells) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_a_round_is_written_ends_the_run(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.json"
    write, written = keeper.write, [0]

    def interrupted_once(of: Record, to: Path) -> None:
        written[0] += 1
        if written[0] == 1:
            os.kill(os.getpid(), signal.SIGINT)
        write(of, to)

    monkeypatch.setattr(keeper, "write", interrupted_once)
    one, _, _ = rounds(lambda step, _: cell(step))
    one.save = Keeper(path, record).save
    one.run()
    assert read(path).interrupted
    assert len(read(path).cells) == 4


def test_minutes_are_written_as_on_a_clock() -> None:
    assert [in_minutes(one) for one in (0.4, 61.0, 600.0)] == ["0:00", "1:01", "10:00"]

"""A whole run against a Triton of numbers: what is printed, what is written, how it ends."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from ensemble.errors import ContractMismatch, ModelUnavailable, ServingError
from tests.tools.bench.bench_fakes import FakeEngine, FakeTriton, fake_triton, samples
from tests.tools.bench.test_bench_options import parsed
from tools.bench import engine
from tools.bench.options import run
from tools.load.generated import Generated
from tools.load.loads import ClosedLoop, Run
from tools.record.record import Record, read

WORDS = ("--load", "concurrency=4", "--rounds", "3", "--duration-s", "1")


class Bench:
    """``tandem bench`` of one server against itself.

    Attributes:
        triton: the server.
        cells: runs of the generator that belong to a cell.
        at: called with the number of the cell, from 1, before it is measured.
    """

    def __init__(self, triton: FakeTriton, path: Path) -> None:
        self.triton = triton
        self.path = path / "record.json"
        self.cells = 0
        self.at: Callable[[int], None] = lambda _: None
        self.engine = FakeEngine(self._before)
        self.out = io.StringIO()
        self.err = io.StringIO()

    def __call__(self, *words: str) -> int:
        address = self.triton.odd.address
        url = f"{address},grpc={address},metrics={address}"
        targets = ("--url", f"a={url}", "--url", f"b={url}", "--out", str(self.path))
        return run(parsed(*WORDS, *targets, *words), self.out, self.err)

    def record(self) -> Record:
        return read(self.path)

    def _before(self, run: Run) -> None:
        if isinstance(run.loop, ClosedLoop) and run.duration_s == 1.0 and run.timeout_s == 10.0:
            self.cells += 1
            self.at(self.cells)
            self.triton.serve(len(self.engine.result.samples))
        else:
            self.triton.serve(1)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with fake_triton() as triton:
        one = Bench(triton, tmp_path)

        @contextmanager
        def entered() -> Iterator[FakeEngine]:
            yield one.engine

        monkeypatch.setitem(engine.ENGINES, "tandem", entered)
        yield one


def test_it_ends_well_with_a_record_a_table_and_a_sentence(bench: Bench) -> None:
    assert bench() == 0
    record = bench.record()
    assert [target.name for target in record.targets] == ["a", "b"]
    assert [size.rows for size in record.targets[0].warm_up] == [1, 2, 4]
    assert len(record.cells) == 6
    assert {cell.unused for cell in record.cells} == {None}
    assert record.command[:2] == ("tandem", "bench")
    text = bench.out.getvalue()
    assert "4 callers" in text
    assert text.rstrip().endswith(f"record: {bench.path}")
    assert "round 3 of 3" in bench.err.getvalue()


def test_sides_take_turns_within_a_round(bench: Bench) -> None:
    bench()
    assert "".join(cell.target for cell in bench.record().cells) == "abbaba"


def test_as_json_it_is_one_object(bench: Bench) -> None:
    assert bench("--json") == 0
    fields = json.loads(bench.out.getvalue())
    assert fields["record"] == str(bench.path)
    assert [(one["target"], one["rounds"]) for one in fields["summary"]] == [("a", 3), ("b", 3)]
    assert fields["verdict"]["sentence"]


def test_both_protocols_are_told_apart(bench: Bench) -> None:
    assert bench("--protocol", "grpc,http") == 0
    assert len(bench.record().cells) == 12
    assert "a http" in bench.out.getvalue()


def test_when_no_cell_counts_that_is_a_failure(bench: Bench) -> None:
    bench.engine.result = Generated(samples(40, late_s=1.0), 0.1, 1.0)
    assert bench() == 1
    assert "no cell counts (the generator was behind its schedule" in bench.out.getvalue()


def test_errors_are_counted_by_cause(bench: Bench) -> None:
    bench.engine.result = Generated(samples(40, "too_busy"), 0.1, 1.0)
    assert bench() == 1  # nothing was answered, which is no success
    assert "120 too_busy" in bench.out.getvalue()


@pytest.mark.parametrize("cell", [2, 3, 6])
def test_ctrl_c_keeps_what_was_measured(bench: Bench, cell: int) -> None:
    def interrupt(number: int) -> None:
        if number == cell:
            raise KeyboardInterrupt

    bench.at = interrupt
    assert bench() == 130
    assert bench.record().interrupted
    assert len(bench.record().cells) == cell - 1
    assert "record: " in bench.out.getvalue()


def test_ctrl_c_in_the_first_cell_leaves_no_record(bench: Bench) -> None:
    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    bench.at = interrupt
    assert bench() == 130
    assert not bench.path.exists()


def test_a_server_that_dies_is_said_and_what_was_measured_is_kept(bench: Bench) -> None:
    def die(number: int) -> None:
        if number == 4:
            bench.triton.odd.pages.clear()

    bench.at = die
    with pytest.raises(ModelUnavailable):
        bench()
    assert len(bench.record().cells) == 3
    assert not bench.record().interrupted
    assert "record: " in bench.out.getvalue()


def test_a_model_that_is_not_there_is_said_before_anything_is_measured(bench: Bench) -> None:
    with pytest.raises(ServingError, match="other"):
        bench("--model", "other")
    assert bench.engine.runs == []


def test_a_server_without_statistics_is_measured_and_said(bench: Bench) -> None:
    bench.triton.odd.pages.pop("/v2/models/stats")
    assert bench() == 0
    assert "a: the server's side is unknown" in bench.err.getvalue()
    assert bench.record().targets[0].steps == ()


# Another program


def test_another_engine_sends_what_is_measured_and_nothing_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = FakeEngine(bench._before)
    monkeypatch.setitem(engine.ENGINES, "perf_analyzer", lambda: nullcontext(other))
    monkeypatch.setattr(engine, "program", lambda: "a program")
    monkeypatch.setattr(engine, "version_of", lambda _: "2.48.0")
    assert bench("--engine", "perf_analyzer") == 0
    assert bench.record().engine == "perf_analyzer 2.48.0"
    assert len(other.runs) == bench.cells == 6
    assert bench.engine.runs


def test_what_another_engine_can_not_send_is_said_before_anything_starts(bench: Bench) -> None:
    with pytest.raises(ContractMismatch, match="--engine perf_analyzer: expected one class"):
        bench("--engine", "perf_analyzer", "--class", "name=a", "--class", "name=b,share=0.5")
    assert bench.triton.odd.asked == []

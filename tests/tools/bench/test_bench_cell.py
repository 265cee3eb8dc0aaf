"""One cell: what it takes from the server and the generator, and what makes it not count."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ensemble.errors import ModelUnavailable
from tests.tools.bench.bench_fakes import FakeEngine, FakeTriton, fake_triton, samples, still_clock
from tools.bench.cell import BUSY, INTERRUPTED, Bench
from tools.bench.classes import classes_of
from tools.bench.loads import loads_of
from tools.bench.plan import Side, Step
from tools.bench.targets import Endpoint, Subject, subject_of
from tools.load.generated import Generated
from tools.load.loads import ClosedLoop, OpenLoop, Run
from tools.record.record import Cell, Load

CLOSED = Load("closed", 4.0)


@pytest.fixture
def triton() -> Iterator[FakeTriton]:
    with fake_triton() as one:
        yield one


def subject(triton: FakeTriton) -> Subject:
    one = Endpoint("a", triton.odd.url, "grpc-host:1", f"{triton.odd.url}/metrics")
    return subject_of(one, "ensemble")


def bench(triton: FakeTriton, before: Callable[[Run], None]) -> Bench:
    return Bench(
        subjects={"a": subject(triton)},
        loads=loads_of(["concurrency=4", "rate=50"], None, 4, 1.0),
        mix=classes_of([], None, 0),
        duration_s=1.0,
        timeout_s=10.0,
        engine=FakeEngine(before),
        clock=still_clock(),
    )


def engine(of: Bench) -> FakeEngine:
    assert isinstance(of.engine, FakeEngine)
    return of.engine


def measured(of: Bench, load: Load = CLOSED, protocol: str = "grpc") -> Cell:
    step = Step(2, Side("a", protocol), load, arrivals_seed=5, mix_seed=6)
    return of.measure(step, lambda _: None)


def test_a_cell_has_the_samples_the_stages_and_the_resources(triton: FakeTriton) -> None:
    one = bench(triton, lambda _: triton.serve(40))
    cell = measured(one)
    assert (cell.round, cell.target, cell.load, cell.protocol) == (2, "a", CLOSED, "grpc")
    assert (cell.duration_s, len(cell.samples), cell.unused) == (1.0, 40, None)
    assert [(stage.model, stage.requests) for stage in cell.stages] == [
        ("preprocess", 40),
        ("classifier", 40),
        ("ensemble", 40),
    ]
    assert cell.resources.generator_cpu_s == 0.5
    assert cell.resources.server_cpu_s is None  # it is somebody else's


def test_the_generator_is_told_where_what_and_how(triton: FakeTriton) -> None:
    one = bench(triton, lambda _: triton.serve(40))
    measured(one, protocol="http")
    measured(one, Load("open", 50.0, "poisson"))
    closed, opened = engine(one).runs
    assert (closed.address, closed.loop, closed.seed) == (triton.odd.address, ClosedLoop(4), 6)
    assert (opened.address, opened.protocol, opened.timeout_s) == ("grpc-host:1", "grpc", 10.0)
    assert isinstance(opened.loop, OpenLoop)


def test_a_generator_that_was_late_makes_the_cell_unused(triton: FakeTriton) -> None:
    one = bench(triton, lambda _: triton.serve(40))
    engine(one).result = Generated(samples(40, late_s=0.2), 0.5, 1.0)
    assert "behind its schedule" in str(measured(one).unused)


def test_a_reload_makes_the_cell_unused_and_its_stages_empty(triton: FakeTriton) -> None:
    one = bench(triton, lambda _: (triton.serve(40), triton.reload("classifier")))
    cell = measured(one)
    assert cell.stages == ()
    assert "loaded again" in str(cell.unused)


def test_traffic_of_others_makes_the_cell_unused(triton: FakeTriton) -> None:
    cell = measured(bench(triton, lambda _: triton.serve(100)))
    assert "60 requests of others" in str(cell.unused)


def test_an_interrupted_cell_is_kept_and_does_not_count(triton: FakeTriton) -> None:
    one = bench(triton, lambda _: None)
    engine(one).result = Generated(samples(3), 0.1, 0.3, interrupted=True)
    cell = measured(one)
    assert (len(cell.samples), cell.unused) == (3, INTERRUPTED)


def test_after_requests_that_were_given_up_the_server_has_to_become_idle(
    triton: FakeTriton,
) -> None:
    one = bench(triton, lambda _: triton.serve(40))
    engine(one).result = Generated(samples(40, "deadline"), 0.5, 1.0)
    triton.pending = 3
    assert measured(one).unused is None
    triton.pending = 0
    assert measured(one).unused == BUSY  # what came before was still at work
    assert measured(one).unused is None


def test_a_server_that_is_gone_ends_the_run(triton: FakeTriton) -> None:
    one = bench(triton, lambda _: triton.odd.pages.clear())
    with pytest.raises(ModelUnavailable):
        measured(one)


def test_a_silent_server_is_measured_from_outside(triton: FakeTriton) -> None:
    triton.odd.pages.pop("/v2/models/stats")
    cell = measured(bench(triton, lambda _: None))
    assert (cell.stages, cell.unused) == ((), None)

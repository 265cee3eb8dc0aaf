"""What holds for every record, also for one that nobody would make."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.record.compare import compare
from tools.record.distribution import distributions
from tools.record.record import Cell, Kind, Load, Record, Resources, StageCounts, Target
from tools.record.samples import OUTCOMES, Samples
from tools.record.summary import Answers, summarise
from tools.record.verdict import verdict

LOADS = (Load("closed", 1), Load("closed", 8), Load("open", 20.0, "poisson"))
TARGETS = tuple(Target(name, "triton 2.51.0", "ensemble") for name in ("a", "b", "c"))
MIX = (Kind("one", 0.5), Kind("two", 0.5))
SANE = st.sampled_from((1e-4, 1e-3, 1.0, 1e3))
ANY = st.sampled_from((0.0, 5e-324, 1e-9, 1e-3, 1.0, 1e9, 1e300, 1.7e308, math.inf, math.nan, -1.0))
COUNT = st.integers(0, 1000)


def samples(random: np.random.Generator, most_s: float) -> Samples:
    """Of a hundred or so; a class may be one that the mix has not."""
    number = int(random.integers(0, 120))
    failed = random.random(number) < random.choice([0.0, 0.05, 0.5, 1.0])
    with np.errstate(invalid="ignore"):
        times_s = most_s * random.random((3, number))
    outcome = failed * random.integers(1, len(OUTCOMES), number)
    return Samples(*times_s, outcome, random.integers(-1, 4, number))


@st.composite
def cells(draw: st.DrawFn, times: st.SearchStrategy[float]) -> Cell:
    """One cell; ``times`` are its scales."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    counts = [draw(COUNT) for _ in range(4)]
    sums = [draw(times) for _ in range(5)]
    sizes = draw(st.none() | st.dictionaries(COUNT, st.tuples(COUNT, times), max_size=2))
    return Cell(
        draw(st.integers(0, 3)),
        draw(st.sampled_from(["a", "b", "c", "unknown"])),
        draw(st.sampled_from(LOADS)),
        draw(st.sampled_from(["grpc", "http"])),
        draw(times),
        samples(random, draw(times)),
        (StageCounts("m", *counts, *sums, sizes),),
        Resources(draw(st.none() | times), None, draw(st.none() | COUNT)),
        draw(st.none() | st.just("late")),
    )


@st.composite
def records(draw: st.DrawFn, times: st.SearchStrategy[float] = SANE) -> Record:
    """Up to a dozen cells, some of them twice."""
    slo_ms = draw(st.none() | times)
    measured = tuple(draw(st.lists(cells(times), max_size=12)))
    return Record("bench", "", {}, (), "tandem", 0, slo_ms, MIX, TARGETS, measured)


@settings(max_examples=100, deadline=None)
@given(records(ANY))
def test_no_record_breaks_a_reduction(of: Record) -> None:
    summarise(of)
    distributions(of)
    told = verdict(of)
    assert told.sentence.endswith(".")
    assert told.sentence.isprintable()


@settings(max_examples=40, deadline=None)
@given(records())
def test_every_request_is_answered_or_has_failed_and_is_of_one_class(of: Record) -> None:
    for summary in summarise(of):
        assert summary.requests == summary.served + sum(summary.errors.values())
        assert sum(kind.requests for kind in summary.kinds) <= summary.requests
        for answers in (summary, *summary.kinds):
            _is_in_order(answers)


def _is_in_order(of: Answers) -> None:
    known = [one.value for one in (of.p50_ms, of.p95_ms, of.p99_ms) if one is not None]
    assert known == sorted(known)
    if of.throughput_per_s and of.goodput_per_s:
        assert of.goodput_per_s.value <= of.throughput_per_s.value * (1 + 1e-9)
    for one in (of.p50_ms, of.p95_ms, of.throughput_per_s):
        if one and one.low is not None and one.high is not None:
            assert one.low <= one.value * (1 + 1e-9)
            assert one.value <= one.high * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(records(), st.randoms(use_true_random=False))
def test_the_order_of_the_cells_does_not_matter(of: Record, random: object) -> None:
    unique = {(c.round, c.target, c.load, c.protocol): c for c in of.cells}
    straight = replace(of, cells=tuple(unique.values()))
    back = replace(of, cells=tuple(unique.values())[::-1])
    for one, other in zip(distributions(straight), distributions(back), strict=True):
        assert (one.target, one.load, [*one.counts]) == (other.target, other.load, [*other.counts])
    for one, other in zip(
        compare(straight).at_equal_load, compare(back).at_equal_load, strict=True
    ):
        assert (one.winner, one.rounds, one.reason) == (other.winner, other.rounds, other.reason)


@settings(max_examples=30, deadline=None)
@given(records(), st.floats(0.1, 10.0))
def test_a_slower_clock_changes_every_time_by_its_factor_and_no_comparison(
    of: Record, factor: float
) -> None:
    stretched = replace(of, cells=tuple(_stretched(cell, factor) for cell in of.cells))
    for one, other in zip(summarise(of), summarise(stretched), strict=True):
        if one.p50_ms and other.p50_ms:
            assert other.p50_ms.value == pytest.approx(factor * one.p50_ms.value)
    for before, after in zip(
        compare(of).at_equal_load, compare(stretched).at_equal_load, strict=True
    ):
        if before.ratio and after.ratio and before.quantity == "p95_ms":
            assert after.ratio.value == pytest.approx(before.ratio.value)


def _stretched(cell: Cell, factor: float) -> Cell:
    times = {name: factor * getattr(cell.samples, name) for name in ("due_s", "latency_s")}
    return replace(
        cell, duration_s=factor * cell.duration_s, samples=replace(cell.samples, **times)
    )


def test_a_record_of_numbers_that_no_clock_gives_is_refused_cell_by_cell() -> None:
    """What the first property hides: that such cells do not count at all."""
    column = np.array([math.nan])
    broken = Samples(np.zeros(1), np.zeros(1), column, np.zeros(1, np.int64), np.zeros(1, np.int64))
    cell = Cell(0, "a", LOADS[0], "grpc", 1.0, broken)
    told = verdict(Record("bench", "", {}, (), "tandem", 0, None, MIX, TARGETS, (cell,)))
    assert told.sentence == (
        "Nothing can be said: no cell counts "
        "(latency_s: expected seconds, got a value that is no time)."
    )

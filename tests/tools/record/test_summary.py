"""Summaries against answers known by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.fakes.records import BASELINE, CLOSED, INTERACTIVE, OPEN, STEPS, record
from tools.record.cells import credit, quantile
from tools.record.intervals import Estimate
from tools.record.record import Cell, Kind, Load, Record, Resources, StageCounts, Target
from tools.record.samples import OUTCOMES, Samples
from tools.record.summary import Summary, Unused, summarise

LOAD = Load("open", 10.0, "constant")
BUSY = OUTCOMES.index("too_busy")


def samples(
    due_s: Sequence[float],
    latency_s: Sequence[float],
    outcome: Sequence[int] | None = None,
    kind: Sequence[int] | None = None,
) -> Samples:
    number = len(due_s)
    return Samples(
        np.array(due_s, np.float64),
        np.full(number, 1e-4),
        np.array(latency_s, np.float64),
        np.array(outcome if outcome else np.zeros(number), np.int64),
        np.array(kind if kind else np.zeros(number), np.int64),
    )


def cell(of: Samples, round: int = 0, load: Load = LOAD, duration_s: float = 10.0) -> Cell:
    return Cell(round, "a", load, "grpc", duration_s, of)


def made(*cells: Cell, slo_ms: float | None = 50.0, mix: tuple[Kind, ...] = (Kind(),)) -> Record:
    target = Target("a", "triton 2.51.0", "ensemble")
    return Record(
        "bench", "", {}, (), "tandem", 0, slo_ms, mix, (target, replace(target, name="b")), cells
    )


def one(of: Record) -> Summary:
    (found,) = summarise(of)
    return found


def hundred(first_ms: float = 1.0) -> Samples:
    """Due every 0.1 s; latencies of 1 to 100 times ``first_ms``, from long to short."""
    latency_s = first_ms * np.arange(100, 0, -1) / 1e3
    return samples([*np.arange(100) / 10], [*latency_s])


@pytest.mark.parametrize(
    ("number", "share", "rank"),
    [(19, 0.95, 19), (20, 0.95, 20), (39, 0.95, 38), (100, 0.95, 96), (99, 0.99, 99), (1, 0.5, 1)],
)
def test_a_quantile_is_the_order_statistic_of_its_rank(
    number: int, share: float, rank: int
) -> None:
    assert quantile(np.arange(1.0, number + 1), share) == rank


@pytest.mark.parametrize(("number", "share"), [(18, 0.95), (98, 0.99), (0, 0.5)])
def test_too_few_values_have_no_quantile(number: int, share: float) -> None:
    assert quantile(np.arange(1.0, number + 1), share) is None


def test_the_next_request_is_within_p95_as_often_as_that_says() -> None:
    """And with interpolation, as numpy does by default, it is not: the red case."""
    random = np.random.default_rng(0)
    drawn = np.sort(random.exponential(1.0, (20_000, 20)), axis=1)
    ours = np.array([quantile(values, 0.95) for values in drawn])
    # The share of an exponential below x is 1 - exp(-x); five standard errors of 20,000 are 0.002.
    assert (1 - np.exp(-ours)).mean() >= 0.95 - 0.002
    assert (1 - np.exp(-np.quantile(drawn, 0.95, axis=1))).mean() < 0.93


def test_latencies_throughput_and_goodput_by_hand() -> None:
    found = one(made(cell(hundred())))
    assert (found.requests, found.served, found.rounds, found.errors) == (100, 100, 1, {})
    assert found.p50_ms == Estimate(pytest.approx(51.0))  # rank 50.5, rounded up
    assert found.p95_ms == Estimate(pytest.approx(96.0))
    assert found.p99_ms == Estimate(pytest.approx(100.0))
    assert found.mean_ms == Estimate(pytest.approx(50.5))
    assert found.throughput_per_s == Estimate(pytest.approx(10.0))
    assert found.goodput_per_s == Estimate(pytest.approx(5.0))
    assert found.late_p99_ms == pytest.approx(0.1)


def test_values_of_rounds_are_averaged_not_their_requests() -> None:
    cells = [cell(hundred(first_ms), round) for round, first_ms in enumerate((1.0, 2.0, 4.0))]
    found = one(made(*cells))
    assert found.p95_ms is not None
    assert found.p95_ms.value == pytest.approx(192.0)  # the geometric mean of 96, 192 and 384
    assert found.p95_ms.low is not None
    assert found.rounds == 3


def test_failures_are_counted_by_cause_and_are_no_latencies() -> None:
    outcome = [BUSY if n < 50 else 0 for n in range(100)]
    given = hundred()
    failing = replace(given, outcome=np.array(outcome, np.int64))
    found = one(made(cell(failing)))
    assert (found.requests, found.served, found.errors) == (100, 50, {"too_busy": 50})
    assert found.p95_ms == Estimate(pytest.approx(49.0))  # rank 48.45 of the 50 shortest
    assert found.p99_ms is None
    assert found.throughput_per_s == Estimate(pytest.approx(5.0))


def test_a_round_with_too_few_answers_leaves_no_quantile_rather_than_being_left_out() -> None:
    found = one(made(cell(hundred()), cell(samples([0.0], [0.001]), 1)))
    assert found.p95_ms is None
    assert found.mean_ms is not None


def test_an_answer_after_the_end_counts_in_a_closed_loop_by_its_share_and_in_an_open_one_not() -> (
    None
):
    of = samples([0.0, 9.0, 9.5, 10.0], [1.0, 1.0, 2.0, 1.0])
    assert [*credit(cell(of, load=Load("closed", 2)))] == [1.0, 1.0, 0.25, 0.0]
    assert [*credit(cell(of))] == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("latency_s", [0.02, 0.7, 3.0])
def test_a_closed_loop_of_constant_latency_has_the_throughput_of_littles_law(
    latency_s: float,
) -> None:
    each = np.arange(0, 10, latency_s)
    due_s = np.concatenate([each, each, each])
    of = samples([*due_s], [latency_s] * len(due_s))
    found = one(made(cell(of, load=Load("closed", 3))))
    assert found.throughput_per_s == Estimate(pytest.approx(3 / latency_s))


def test_classes_of_the_mix_are_summarised_apart() -> None:
    of = replace(hundred(), kind=np.arange(100) % 2)
    mix = (Kind("urgent", 0.5, 1), Kind("bulk", 0.5))
    found = one(made(cell(of), mix=mix))
    urgent, bulk = found.kinds
    assert (urgent.name, urgent.requests, bulk.name, bulk.requests) == ("urgent", 50, "bulk", 50)
    assert urgent.p95_ms == Estimate(pytest.approx(98.0))  # even ones: 2 to 100 ms; rank 49 of 50
    assert bulk.throughput_per_s == Estimate(pytest.approx(5.0))
    assert one(made(cell(hundred()))).kinds == ()


def test_stages_are_means_over_the_requests_of_all_rounds() -> None:
    first = StageCounts("m", 10, 1, 20, 5, 3.0, 1.0, 0.5, 1.0, 0.5, {4: (5, 2.0)})
    second = StageCounts("m", 30, 0, 60, 15, 9.0, 3.0, 1.5, 3.0, 1.5, {4: (14, 5.6), 2: (1, 0.1)})
    cells = [replace(cell(hundred(), n), stages=(s,)) for n, s in enumerate((first, second))]
    (stage,) = one(made(*cells)).stages
    assert (stage.requests, stage.failures, stage.inferences, stage.executions) == (40, 1, 80, 20)
    assert stage.mean_batch == 4.0
    times_ms = (stage.queue_ms, stage.compute_input_ms, stage.compute_infer_ms, stage.request_ms)
    assert times_ms == pytest.approx((100.0, 50.0, 100.0, 300.0))
    assert stage.sizes == {2: 1, 4: 19}


def test_a_stage_without_requests_has_no_times() -> None:
    idle = StageCounts("m", 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    (stage,) = one(made(replace(cell(hundred()), stages=(idle,)))).stages
    assert (stage.queue_ms, stage.mean_batch, stage.sizes) == (None, None, None)


@pytest.mark.parametrize("no_time", [math.nan, math.inf, 1e300])
def test_a_stage_of_numbers_that_are_no_times_has_none(no_time: float) -> None:
    broken = StageCounts("m", 4, 0, 4, 2, 1.0, no_time, 0.1, 0.1, 0.1)
    (stage,) = one(made(replace(cell(hundred()), stages=(broken,)))).stages
    assert (stage.queue_ms, stage.compute_input_ms) == (None, 25.0)


def test_resources_that_nobody_measured_are_none_and_never_zero() -> None:
    used = Resources(server_cpu_s=5.0, resident_bytes=7)
    found = one(made(replace(cell(hundred()), resources=used), cell(hundred(), 1)))
    assert found.server_cpu_ms_per_request == Estimate(pytest.approx(50.0))
    assert found.resident_bytes == 7
    nothing = (found.generator_cpu_ms_per_request, found.gpu_utilisation, found.gpu_memory_bytes)
    assert nothing == (None, None, None)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (replace(cell(hundred()), unused="the schedule was not kept"), "schedule was not kept"),
        (cell(samples([0.0], [math.nan])), "latency_s: expected seconds"),
        (cell(samples([math.inf], [1.0])), "due_s: expected seconds"),
        (cell(samples([0.0], [1e300])), "latency_s: expected seconds"),
        (cell(samples([0.0], [-1.0])), "latency_s: expected 0 or more"),
        (cell(hundred(), duration_s=0.0), "expected a duration of 1e-06 to 1e+09 s, got 0"),
        (cell(hundred(), duration_s=math.nan), "got nan"),
        (cell(hundred(), duration_s=math.inf), "got inf"),
    ],
)
def test_a_cell_that_does_not_count_is_named_with_its_reason(broken: Cell, words: str) -> None:
    found = one(made(cell(hundred(), 0), replace(broken, round=1)))
    ((round_, reason),) = [(one.round, one.reason) for one in found.unused]
    assert round_ == 1
    assert words in reason
    assert (found.rounds, found.requests) == (1, 100)


def test_where_no_cell_counts_nothing_is_known() -> None:
    found = one(made(replace(cell(hundred()), unused="late")))
    assert found.unused == (Unused(0, "late"),)
    unknown = (found.p50_ms, found.p95_ms, found.mean_ms, found.throughput_per_s)
    assert unknown == (None,) * 4
    assert (found.rounds, found.requests, found.late_p99_ms, found.stages) == (0, 0, None, ())


def test_a_cell_without_requests_has_no_throughput() -> None:
    found = one(made(cell(samples([], []))))
    assert (found.requests, found.throughput_per_s, found.p50_ms) == (0, None, None)


def test_without_an_slo_there_is_no_goodput() -> None:
    assert one(made(cell(hundred()), slo_ms=None)).goodput_per_s is None


def test_summaries_come_by_target_and_then_by_load() -> None:
    loads = (*OPEN[::-1], *CLOSED)
    made_ = record((INTERACTIVE, BASELINE), loads, 1, protocols=("http", "grpc"), duration_s=1.0)
    found = [(one.target, one.protocol, one.load) for one in summarise(made_)]
    assert found == [
        (target, protocol, load)
        for target in ("interactive", "baseline")
        for protocol in ("grpc", "http")
        for load in (*CLOSED, *OPEN)
    ]


def test_a_record_of_a_batching_server_shows_its_batches() -> None:
    found = {(summary.target, summary.load): summary for summary in summarise(record(rounds=3))}
    busy, quiet = found["interactive", CLOSED[-1]], found["interactive", CLOSED[0]]
    assert [stage.model for stage in busy.stages] == [*STEPS, "ensemble"]
    classifier, alone = busy.stages[1], quiet.stages[1]
    assert classifier.mean_batch is not None
    assert classifier.mean_batch > 4.0
    assert alone.sizes == {1: quiet.requests}

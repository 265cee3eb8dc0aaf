"""Each cause on made-up counters: where it must be named, and where it must not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from tests.tools.doctor.stages import WINDOW_S, config, policy, stage
from tools.doctor.causes import (
    CAUSES,
    ENSEMBLE_CAUSES,
    clients,
    delay,
    diagnose,
    ensembles,
    failures,
    queues,
    traffic,
)
from tools.doctor.causes import batching as by_config
from tools.doctor.report import as_text, is_clean
from tools.doctor.stage import Moment, Probe, Stage, Times, Watched
from tools.statistics.configuration import Config, Input, Policy
from tools.statistics.counters import Counters, Size
from tools.validate.findings import Rule, Severity
from tools.validate.rules import live

FREE = (Input("IN", dims=(-1,)),)
RAGGED = (Input("IN", dims=(-1,), ragged=True),)
OPTIONAL = (Input("IN"), Input("MORE", optional=True))
STEEP = {1: 0.05, 2: 0.051, 4: 0.053, 5: 0.054, 8: 0.057}
"""Execution times where a batch costs hardly more than a row."""
FLAT = {1: 0.011, 2: 0.021, 4: 0.041, 5: 0.051, 8: 0.081}
"""Execution times where a batch saves hardly anything."""
LATE = policy(max_queue_size=100)
FOUR = config(instances=4)

# Eight callers, one row each. In step: 195 executions of 4, each waits one. Apart: each alone.
APART: dict[str, Any] = {"sizes": {1: 195}, "queue_s": 0.35}
IN_STEP: dict[str, Any] = {"sizes": {4: 180, 5: 6, 1: 6}, "queue_s": 0.052, "times": STEEP}
IN_STEP["pending"] = 4
INDEPENDENT: dict[str, Any] = {"sizes": {2: 60, 4: 80, 8: 40, 1: 10}, "queue_s": 0.03}


def unbatched(**more: Any) -> Config:
    return replace(config(**more), batching=None)


def stalled(gaps: int, settings: Config | None = None, pause_s: float = 0.0) -> Stage:
    """A pair of requests each 0.8 s; in some of them the second waits 0.5 s for nothing."""
    moments, counters, at_s = [Moment(0.0, Counters(sizes={}))], Counters(sizes={}), 0.0
    for number in range(12):
        for tenth in range(1, 9):
            at_s += 0.1 + (pause_s if tenth == 4 else 0.0)
            ends = {2: 0.0, 7 if number < gaps else 3: 0.5 if number < gaps else 0.05}
            if tenth in ends:
                counters = after_one_more(counters, ends[tenth])
            moments.append(Moment(at_s, counters))
    chosen = settings or config(LATE)
    return replace(stage(chosen), moments=tuple(moments))


def bunched(steady: Stage) -> Stage:
    """The same load on the whole, but all of it in the first half of the window."""
    last = len(steady.moments) - 1
    return replace(
        steady,
        moments=tuple(
            replace(moment, counters=steady.moments[min(last, 2 * n)].counters)
            for n, moment in enumerate(steady.moments)
        ),
    )


def growing(steady: Stage) -> Stage:
    """Waiting requests come one by one, as when nobody waits for anybody."""
    moments = (replace(moment, pending=n % 9) for n, moment in enumerate(steady.moments))
    return replace(steady, moments=tuple(moments))


def after_one_more(counters: Counters, queue_s: float) -> Counters:
    count = counters.executions + 1
    return replace(
        counters,
        requests=count,
        inferences=count,
        executions=count,
        queue_s=counters.queue_s + queue_s,
        request_s=counters.request_s + queue_s + 0.05,
        sizes={1: Size(count, 0.05 * count)},
    )


class Case(NamedTuple):
    """A cause, where it is, and where it is not."""

    cause: Any
    rule: Rule
    red: Stage
    green: tuple[Stage, ...]


CASES = [
    Case(
        failures.not_ready,
        live.NOT_READY,
        stage(ready=False),
        (stage(ready=True), stage(ready=None)),
    ),
    Case(
        failures.dead_stub,
        live.DEAD_STUB,
        stage(failures=5, reasons={"BACKEND": 5}),
        (
            stage(failures=5, reasons=None),  # input that the server refuses looks like that
            stage(failures=5, reasons={"OTHER": 5}),
            stage(failures=2, reasons={"BACKEND": 2}),
            stage(failures=5, reasons={"BACKEND": 5}, sizes={1: 30}),
            stage(config(backend="onnxruntime"), failures=5, reasons={"BACKEND": 5}),
            stage(probe=Probe(1.0, None, ("Failed to process the request(s)",))),
        ),
    ),
    Case(
        failures.dead_stub,
        live.DEAD_STUB,
        stage(probe=Probe(None, None, ("Stub process 'm_0_0' is not healthy.",))),
        (stage(probe=Probe(1.0, 1.0)),),
    ),
    Case(
        failures.every_request_fails,
        live.EVERY_REQUEST_FAILS,
        stage(failures=5, reasons=None),
        (
            stage(failures=5, reasons={"BACKEND": 5}),  # the process is known to be dead
            stage(failures=2),
            stage(failures=5, sizes={1: 1}),
        ),
    ),
    Case(
        failures.some_requests_fail,
        live.SOME_REQUESTS_FAIL,
        stage(failures=2, sizes={1: 100}),
        (stage(failures=2, sizes={1: 1000}), stage(failures=5), stage(sizes={1: 100})),
    ),
    Case(
        failures.some_requests_fail,
        live.SOME_REQUESTS_FAIL,
        stage(FOUR, failures=3, sizes={1: 1000}, reasons={"BACKEND": 3}),
        (
            stage(FOUR, failures=2, sizes={1: 1000}, reasons={"BACKEND": 2}),
            stage(FOUR, failures=3, sizes={1: 1000}, reasons={"OTHER": 3}),
        ),
    ),
    Case(traffic.reloaded, live.RELOADED, stage(reloaded=True), (stage(),)),
    Case(
        traffic.nothing_completes,
        live.NOTHING_COMPLETES,
        stage(pending=3),
        (stage(pending=0), stage(pending=None), stage(pending=3, sizes={1: 30})),
    ),
    Case(
        traffic.not_enough,
        live.NOT_ENOUGH_TRAFFIC,
        stage(sizes={1: 19}),
        (stage(sizes={1: 20}), stage(), stage(failures=9)),
    ),
    Case(
        clients.sequential,
        live.SEQUENTIAL_CLIENT,
        stage(sizes={1: 190}, queue_s=0.0005),
        (
            stage(sizes={1: 100}),  # half of the time nobody asks
            stage(sizes={1: 200}, queue_s=0.01),  # above one: two must have met
            stage(unbatched(is_sequence=True), sizes={1: 190}),
            stage(sizes={1: 190}, is_member=True),
            stage(sizes={8: 190}, rows=8),
            stage(sizes={1: 9}, execution_s=1.1),
            stage(sizes={2: 95}, execution_s=0.05),
            stage(sizes={1: 150}, queue_s=0.012),  # some wait for others
        ),
    ),
    Case(
        clients.light,
        live.LIGHT_TRAFFIC,
        stage(sizes={1: 100}),
        (stage(sizes={1: 190}), stage(**APART), stage(unbatched(), sizes={1: 100})),
    ),
    Case(
        clients.batched,
        live.BATCHED_BY_CLIENT,
        stage(sizes={8: 100}, rows=8),
        (stage(sizes={8: 100}), stage(sizes={5: 100}, rows=5)),
    ),
    Case(
        clients.do_not_fit,
        live.REQUESTS_DO_NOT_FIT,
        stage(sizes={5: 195}, rows=5, queue_s=0.15),
        (
            stage(sizes={8: 195}, rows=8, queue_s=0.15),
            stage(sizes={4: 195}, rows=4, queue_s=0.15),
            stage(sizes={5: 50}, rows=5),  # nobody waits
        ),
    ),
    Case(
        clients.too_few,
        live.TOO_FEW_CLIENTS,
        stage(sizes={1: 195}, queue_s=0.05),
        (
            stage(sizes={1: 190}),  # one
            stage(**APART),
            stage(sizes={1: 195}, queue_s=0.08),  # more than two now and then
            stage(sizes={8: 195}, rows=8, queue_s=0.05),  # two would not fit anyway
            stage(sizes={2: 195}, queue_s=0.0),
            stage(sizes={1: 110, 2: 45}, queue_s=0.042, execution_s=0.0545),  # they meet as a rule
            stage(config(instances=2), sizes={1: 390}),  # none waits: an instance each
            stage(sizes={1: 195}, queue_s=0.05, is_member=True),
            stage(unbatched(is_sequence=True), sizes={1: 195}, queue_s=0.05),
        ),
    ),
    Case(
        clients.sequential,
        live.SEQUENTIAL_CLIENT,
        stage(unbatched(), sizes={1: 190}),
        (stage(unbatched(), sizes={8: 190}, rows=8), stage(unbatched(), sizes={1: 100})),
    ),
    Case(
        clients.too_few,
        live.TOO_FEW_CLIENTS,
        stage(sizes={1: 135, 2: 25}, queue_s=0.04, execution_s=0.0625),  # now and then together
        (),
    ),
    Case(
        clients.too_few,
        live.TOO_FEW_CLIENTS,
        stage(unbatched(), sizes={1: 195}, queue_s=0.05),
        (
            stage(unbatched(), **APART),
            stage(unbatched(), sizes={1: 190}),
            stage(unbatched(), sizes={1: 80}, queue_s=0.175),  # bursts, one behind the other
            stage(unbatched(), sizes={1: 195}, queue_s=0.05, pending=2),
        ),
    ),
    Case(
        clients.batched,
        live.BATCHED_BY_CLIENT,
        stage(unbatched(), sizes={8: 100}, rows=8),
        (stage(unbatched(max_batch_size=1), sizes={1: 100}), stage(unbatched(), sizes={1: 100})),
    ),
    Case(
        by_config.no_dynamic_batching,
        live.NO_DYNAMIC_BATCHING,
        stage(unbatched(), **APART),
        (
            stage(**APART),
            stage(unbatched(), sizes={1: 190}),  # one at a time anyway
            stage(unbatched(is_sequence=True), **APART),
            stage(unbatched(max_batch_size=1), **APART),
            stage(unbatched(instances=16), **APART),
            stage(unbatched(), sizes={5: 195}, rows=5, queue_s=0.15),  # no two would fit
        ),
    ),
    Case(
        by_config.no_dynamic_batching,
        live.NO_DYNAMIC_BATCHING,
        bunched(stage(unbatched(), sizes={1: 140}, queue_s=0.05)),
        (
            stage(unbatched(), sizes={1: 140}, queue_s=0.05),  # never three at a time
            bunched(stage(unbatched(), sizes={1: 60}, queue_s=0.01)),  # a short wait
            bunched(stage(sizes={1: 140}, queue_s=0.05)),
            stage(unbatched(), sizes={1: 140}, queue_s=0.05, pending=1),
            bunched(stage(unbatched(instances=4), sizes={1: 140}, queue_s=0.05)),
        ),
    ),
    Case(
        by_config.no_dynamic_batching,
        live.NO_DYNAMIC_BATCHING,
        stage(unbatched(), sizes={1: 140}, queue_s=0.05, pending=2),
        (stage(unbatched(), sizes={1: 100}, queue_s=0.01, pending=2),),
    ),
    Case(
        by_config.max_batch_size_one,
        live.MAX_BATCH_SIZE_ONE,
        bunched(stage(config(max_batch_size=1), sizes={1: 140}, queue_s=0.05)),
        (stage(config(max_batch_size=1), sizes={1: 140}, queue_s=0.05),),
    ),
    Case(
        by_config.each_runs_alone,
        live.EACH_RUNS_ALONE,
        stage(unbatched(), sizes={1: 140}, queue_s=0.01),
        (
            stage(unbatched(), **APART),  # D201 says more
            stage(config(max_batch_size=1), **APART),
            stage(sizes={1: 140}, queue_s=0.01),
            stage(unbatched(), sizes={1: 10}),
            stage(unbatched(), sizes={8: 140}, rows=8),
            stage(unbatched(is_sequence=True), sizes={1: 140}),
        ),
    ),
    Case(
        by_config.each_runs_alone,
        live.EACH_RUNS_ALONE,
        stage(config(max_batch_size=0), sizes={1: 195}, queue_s=0.05),
        (),
    ),
    Case(
        by_config.max_batch_size_one,
        live.MAX_BATCH_SIZE_ONE,
        stage(config(max_batch_size=0), **APART),
        (stage(**APART), stage(config(max_batch_size=1), sizes={1: 190})),
    ),
    Case(
        by_config.shapes_apart,
        live.SHAPES_APART,
        stage(config(inputs=FREE), **APART),
        (
            stage(config(inputs=RAGGED), **APART),
            stage(**APART),
            stage(config(inputs=FREE), sizes={4: 195}, queue_s=0.05),
            stage(config(inputs=FREE), sizes={1: 195}, queue_s=0.05),  # two callers alternate
            stage(config(inputs=FREE), sizes={1: 40}, queue_s=0.5),  # the instance is idle
            stage(config(inputs=FREE), sizes={8: 195}, rows=8, queue_s=0.3),
            stage(config({"preferred": (1,)}, inputs=FREE), **APART),  # the size is the cause
            stage(config({"delay_s": 0.35}, inputs=FREE), **APART),  # the delay is the wait
        ),
    ),
    Case(
        by_config.optional_inputs_apart,
        live.OPTIONAL_INPUTS_APART,
        stage(config(inputs=OPTIONAL), **APART),
        (
            stage(**APART),
            stage(config(inputs=FREE + OPTIONAL), **APART),
            stage(config(inputs=OPTIONAL), sizes={4: 195}, queue_s=0.05),
        ),
    ),
    Case(
        by_config.more_instances_than_load,
        live.MORE_INSTANCES_THAN_LOAD,
        stage(config(instances=4), sizes={1: 590}),
        (
            stage(config(instances=2), sizes={1: 390}, queue_s=0.05),  # they wait
            stage(config(instances=4), sizes={8: 590}, rows=8),
            stage(config(instances=4), sizes={1: 190}),
            stage(config(instances=4), sizes={1: 400, 2: 95}, times=FLAT, execution_s=0.02),
            stage(config(instances=4), sizes={2: 390}),  # two by two is batching
            stage(sizes={1: 390}),
        ),
    ),
    Case(
        by_config.alternating_cohorts,
        live.ALTERNATING_COHORTS,
        stage(**IN_STEP),
        (
            stage(**{**IN_STEP, "times": FLAT}, execution_s=0.05),  # nothing to gain
            stage(**IN_STEP, is_member=True),
            stage(config(max_batch_size=4), **IN_STEP),  # batches are full
            stage(**{**IN_STEP, "sizes": {4: 195}}),  # one size tells no gain
            stage(**INDEPENDENT, times=STEEP),
            stage(**{**IN_STEP, "pending": None}),
            stage(**{**IN_STEP, "pending": 8}),
            growing(stage(**IN_STEP)),
            stage(config(instances=2), **IN_STEP),
        ),
    ),
    Case(
        by_config.preferred_caps_batch,
        live.PREFERRED_CAPS_BATCH,
        stage(config({"preferred": (2,)}), sizes={2: 185, 1: 10}, queue_s=0.3, times=STEEP),
        (
            stage(
                config({"preferred": (2,), "delay_s": 0.001}),
                sizes={2: 185, 1: 10},
                queue_s=0.3,
                times=STEEP,
            ),
            stage(config({"preferred": (2,)}), sizes={2: 300, 1: 150}, queue_s=0.3, times=FLAT),
            stage(config({"preferred": (2,)}), sizes={2: 195}, queue_s=0.3),  # no gain known
            stage(config({"preferred": (2,)}), sizes={2: 180, 1: 15}, queue_s=0.05, times=STEEP),
            stage(sizes={2: 185, 1: 10}, queue_s=0.3, times=STEEP),
        ),
    ),
    Case(
        by_config.unexplained,
        live.UNEXPLAINED,
        stage(**APART),
        (
            stage(config(inputs=FREE), **APART),
            stage(config(inputs=OPTIONAL), **APART),
            stage(config({"preferred": (1,)}), **APART),
            stage(config(is_sequence=True), **APART),
        ),
    ),
    Case(
        delay.in_vain,
        live.DELAY_IN_VAIN,
        stage(config({"delay_s": 0.05}), sizes={1: 95}, queue_s=0.0505),
        (
            stage(config({"delay_s": 0.05}), sizes={1: 95}, queue_s=0.02),
            stage(config({"delay_s": 0.05}), sizes={1: 95}, queue_s=0.2),
            stage(config({"delay_s": 0.05}), sizes={2: 95}, queue_s=0.0375),  # one joins another
            stage(config({"delay_s": 0.05}), sizes={1: 190}, queue_s=0.05),  # busy
            stage(sizes={1: 95}),
            stage(config({"delay_s": 1e-4}), sizes={1: 95}, queue_s=1e-4),
        ),
    ),
    Case(
        delay.in_vain,
        live.DELAY_IN_VAIN,
        stage(config({"delay_s": 0.1}), sizes={6: 78}, queue_s=0.1, execution_s=0.026),
        (
            # The others came while the first waited, as independent ones do.
            stage(config({"delay_s": 0.1}), sizes={6: 78}, queue_s=0.07, execution_s=0.026),
            # So busy that part of the wait is for the instance.
            stage(config({"delay_s": 0.05}), sizes={3: 60}, queue_s=0.05, execution_s=0.05),
            # Shorter than an execution: without it the batch would become two.
            stage(config({"delay_s": 0.02}), sizes={6: 210}, queue_s=0.02, execution_s=0.026),
            # The lone ones and the batches have no common cause.
            stage(config({"delay_s": 0.1}), sizes={1: 60, 2: 10}, queue_s=0.1),
            # No batch of a preferred size says more.
            stage(
                config({"preferred": (7,), "delay_s": 0.1}),
                sizes={6: 78},
                queue_s=0.1,
                execution_s=0.026,
            ),
        ),
    ),
    Case(
        delay.in_vain,
        live.DELAY_IN_VAIN,
        stage(config({"delay_s": 0.03}), sizes={6: 178}, queue_s=0.03, execution_s=0.026),
        (),  # half of the time busy, and always the same six callers
    ),
    Case(
        delay.preferred_unreached,
        live.PREFERRED_UNREACHED,
        stage(config({"preferred": (6,), "delay_s": 0.1}), sizes={3: 60}, queue_s=0.1),
        (
            stage(config({"delay_s": 0.1}), sizes={3: 60}, queue_s=0.1),  # Triton's own 8
            stage(config({"preferred": (2, 6), "delay_s": 0.1}), sizes={3: 60}, queue_s=0.1),
            stage(config({"preferred": (6,), "delay_s": 0.1}), sizes={3: 60, 6: 1}, queue_s=0.1),
            stage(config({"preferred": (6,)}), sizes={3: 60}, queue_s=0.1),
            stage(config({"preferred": (6,), "delay_s": 0.1}), sizes={3: 60}, queue_s=0.01),
        ),
    ),
    Case(
        queues.late_mode_stalls,
        live.LATE_MODE_STALLS,
        stalled(4),
        (
            stalled(1),
            stalled(4, config()),  # without a policy Triton has no such fault
            stalled(4, config({**LATE, "delay_s": 0.5})),
            stalled(4, pause_s=0.5),  # the machine's own pauses
            stage(config(LATE), sizes={1: 190}),
        ),
    ),
    Case(
        queues.timeout_never_fires,
        live.TIMEOUT_NEVER_FIRES,
        stage(config(policy(allow_override=True))),
        (stage(config(policy(allow_override=True, timeout_s=1.0))), stage(), stage(unbatched())),
    ),
    Case(
        queues.full,
        live.QUEUE_FULL,
        stage(config(LATE), pending=100),
        (
            stage(config(LATE), pending=99),
            stage(config(LATE), pending=None),
            stage(config({**LATE, "priority_levels": 2}), pending=100),  # 100 a level
            stage(pending=100),
            stage(unbatched(), pending=100),
        ),
    ),
    Case(
        queues.full,
        live.QUEUE_FULL,
        stage(config(LATE), probe=Probe(1.0, 2.0, ("Exceeds maximum queue size",))),
        (stage(config(LATE), probe=Probe(1.0, 2.0, ("Request timeout expired",))),),
    ),
    Case(
        queues.rejects_not_counted,
        live.REJECTS_NOT_COUNTED,
        stage(config(LATE), pending=3),
        (stage(config(LATE), pending=100), stage(), stage(unbatched())),
    ),
]


def test_failures_in_one_of_several_processes_point_at_the_probe() -> None:
    def told(settings: Config = FOUR, reasons: dict[str, int] | None = None, **more: Any) -> str:
        one = stage(settings, sizes={1: 338}, failures=20, reasons=reasons, **more)
        finding = failures.some_requests_fail(one)
        assert finding is not None
        return finding.message

    backend = {"BACKEND": 20}
    assert "one of the 4 Python processes may be dead" in told(reasons=backend)
    assert "--probe 32 tells" in told(reasons=backend)
    assert "the Python process may be dead" in told(config(), backend)
    assert "--probe" in live.SOME_REQUESTS_FAIL.mend
    for other in (None, {"BACKEND": 19, "OTHER": 1}, {"REJECTED": 20}):
        assert "dead" not in told(reasons=other)
    assert "dead" not in told(config(backend="onnxruntime"), backend)
    dead = Probe(1.0, 1.0, ("Stub process 'm_0_0' is not healthy.",))
    assert "dead" not in told(reasons=backend, probe=dead)  # D501 says so already


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule.name)
def test_a_cause_is_named_where_it_is(case: Case) -> None:
    finding = case.cause(case.red)
    assert finding is not None
    assert finding.rule is case.rule
    assert any(letter.isdigit() for letter in finding.message)
    assert str(finding.place) == "m"


@pytest.mark.parametrize(
    ("case", "number"),
    [(case, n) for case in CASES for n in range(len(case.green))],
    ids=lambda value: value.rule.name if isinstance(value, Case) else str(value),
)
def test_a_cause_is_not_blamed_where_it_is_not(case: Case, number: int) -> None:
    assert case.cause(case.green[number]) is None


# Ensembles

ENSEMBLE = Config("ensemble", batching=None, instances=None, steps=("a", "b"))


def ensemble(*members: Stage, **fields: Any) -> tuple[Stage, tuple[Stage, ...]]:
    whole = {"sizes": {1: 100}, "execution_s": 0.1, "name": "m"} | fields
    named = [
        replace(one, model=one.model._replace(name=name))
        for name, one in zip("ab", members, strict=False)
    ]
    return stage(ENSEMBLE, **whole), tuple(named)


def levels(count: int) -> Stage:
    return stage(config({"priority_levels": count}))


QUIET = stage(sizes={1: 100})
FAILING = {"sizes": {1: 100}, "failures": 6}
ENSEMBLE_CASES = [
    (
        ensembles.refused_by_a_full_queue,
        live.QUEUE_FULL,
        ensemble(QUIET, stage(config(LATE)), **FAILING),
        (
            ensemble(QUIET, QUIET, **FAILING),
            ensemble(QUIET, stage(config(LATE), failures=3), **FAILING),
            ensemble(stage(config(LATE)), **FAILING),  # one stage was not watched
            ensemble(QUIET, stage(config(LATE))),
        ),
    ),
    (
        ensembles.every_request_fails,
        live.EVERY_REQUEST_FAILS,
        ensemble(QUIET, QUIET, sizes={}, failures=6),
        (
            ensemble(QUIET, stage(failures=3), sizes={}, failures=6),
            ensemble(QUIET, QUIET, **FAILING),
            ensemble(QUIET, stage(config(LATE)), sizes={}, failures=6),
        ),
    ),
    (
        ensembles.some_requests_fail,
        live.SOME_REQUESTS_FAIL,
        ensemble(QUIET, QUIET, **FAILING),
        (
            ensemble(QUIET, stage(failures=3), **FAILING),
            ensemble(QUIET, stage(config(LATE)), **FAILING),
            ensemble(QUIET, QUIET),
        ),
    ),
    (
        ensembles.priorities_undone,
        live.PRIORITIES_UNDONE,
        ensemble(levels(0), levels(2)),
        (
            ensemble(levels(2), levels(2)),
            ensemble(levels(2), levels(0)),
            ensemble(levels(0), levels(0)),
            ensemble(stage(unbatched()), levels(0)),
            ensemble(levels(0)),
        ),
    ),
    (
        ensembles.priorities_undone,
        live.PRIORITIES_UNDONE,
        ensemble(levels(3), levels(2)),
        (),
    ),
    (
        ensembles.timeouts_per_stage,
        live.TIMEOUTS_PER_STAGE,
        ensemble(*[stage(config(policy(timeout_s=0.1)))] * 2),
        (
            ensemble(QUIET, stage(config(policy(timeout_s=0.1)))),
            ensemble(*[stage(config(policy(timeout_s=0.1, delays=True)))] * 2),
        ),
    ),
    (
        clients.sequential_through,
        live.SEQUENTIAL_CLIENT,
        ensemble(QUIET, QUIET, sizes={1: 99}),
        (
            ensemble(QUIET, QUIET, sizes={1: 60}),
            ensemble(QUIET, QUIET, sizes={1: 120}),
            ensemble(QUIET, stage(sizes={1: 100}, queue_s=0.03), sizes={1: 99}),
            ensemble(QUIET, stage(sizes={2: 50}), sizes={1: 99}),
            ensemble(QUIET, QUIET, sizes={1: 99}, is_member=True),
        ),
    ),
    (
        ensembles.bottleneck,
        live.BOTTLENECK,
        ensemble(QUIET, stage(sizes={1: 100}, queue_s=0.03)),
        (
            ensemble(QUIET, stage(sizes={1: 100}, queue_s=0.02)),
            ensemble(*[stage(sizes={1: 100}, queue_s=0.03)] * 2),
            ensemble(stage(sizes={1: 100}, queue_s=0.03)),
            ensemble(QUIET, stage(sizes={1: 100}, queue_s=0.03), sizes={1: 3}),
        ),
    ),
]


@pytest.mark.parametrize(("cause", "rule", "red", "green"), ENSEMBLE_CASES)
def test_causes_of_ensembles(cause: Any, rule: Rule, red: Any, green: Any) -> None:
    finding = cause(*red)
    assert finding is not None
    assert finding.rule is rule
    assert [cause(*one) for one in green] == [None] * len(green)


# All together


def watched(*stages: Stage) -> Watched:
    return Watched("http://h:8000", "2.51.0", stages, WINDOW_S)


def codes(*stages: Stage) -> list[set[str]]:
    return [{finding.rule.code for finding in found} for _, found in diagnose(watched(*stages))]


@pytest.mark.parametrize(
    "healthy",
    [
        stage(**INDEPENDENT),
        stage(config(inputs=FREE), **INDEPENDENT),
        stage(config(instances=2), sizes={2: 200, 1: 100, 3: 50}, queue_s=0.02),
        stage(sizes={8: 195}, queue_s=0.05),
        stage(config({"delay_s": 0.005}), sizes={4: 130, 2: 60, 8: 5}, queue_s=0.04),
    ],
)
def test_a_healthy_stage_gets_a_clean_bill(healthy: Stage) -> None:
    assert codes(healthy) == [set()]


def test_one_cause_explains_a_stage_whose_requests_are_kept_apart() -> None:
    assert codes(stage(config(inputs=FREE), **APART)) == [{"D203"}]
    assert codes(stage(unbatched(inputs=FREE), **APART)) == [{"D201"}]
    assert codes(stage(unbatched(), sizes={1: 195}, queue_s=0.05)) == [{"D105", "D209"}]
    assert codes(stage(unbatched(), sizes={1: 190})) == [{"D101", "D209"}]
    assert codes(stage(unbatched(), sizes={8: 190}, rows=8)) == [{"D103"}]


def test_a_stage_that_can_not_batch_gets_no_clean_bill() -> None:
    server = watched(stage(unbatched(), sizes={1: 140}, queue_s=0.01))
    found = diagnose(server)
    assert is_clean(found)
    verdict = list(as_text(server, found))[-1]
    assert verdict == "Verdict: little is lost at this load, but m can't batch (1 note)."


def test_an_idle_model_beside_busy_ones_is_not_an_idle_server() -> None:
    assert codes(stage(), stage(**INDEPENDENT, name="n")) == [{"D002"}, set()]
    assert codes(stage(), stage(name="n")) == [{"D001"}, {"D001"}]


def test_cached_answers_are_no_executions() -> None:
    cached = stage(sizes={1: 30}, cache_hits=25)
    assert cached.executed_requests == 5
    assert not cached.is_enough


def test_failed_executions_leave_nothing_to_judge() -> None:
    assert not stage(**APART, failures=100).is_enough
    assert codes(stage(config(inputs=FREE), **APART, failures=100)) == [{"D503"}]


def test_two_requests_that_meet_in_one_part_are_no_sequential_client() -> None:
    """The same load on the whole, but all of it in two thirds of the window."""
    steady = stage(sizes={1: 190})
    bunched = tuple(
        replace(moment, counters=steady.moments[min(100, n * 3 // 2)].counters)
        for n, moment in enumerate(steady.moments)
    )
    assert clients.sequential(steady) is not None
    assert clients.sequential(replace(steady, moments=bunched)) is None


def test_what_is_not_known_is_none() -> None:
    unknown = replace(
        stage(),
        moments=(Moment(0.0, Counters()), Moment(10.0, Counters(30, 0, 30, 30, 3.0, 1.0))),
    )
    assert unknown.utilisation is None
    assert unknown.execution_s is None
    assert unknown.times() is None
    assert stage(config(instances=None), sizes={1: 30}).utilisation is None


def test_execution_times_of_cold_starts_are_not_believed() -> None:
    """What was counted before the window holds the first execution of a size."""
    few = stage(sizes={1: 2, 8: 100}, times={1: 2.0})
    many = stage(sizes={1: 2, 8: 100})
    before = Counters(sizes={1: Size(40, 2.0), 8: Size(40, 2.0)})
    moments = tuple(
        replace(one, counters=replace(one.counters, sizes=_summed(one.counters, before)))
        for one in many.moments
    )
    assert few.times() is None
    assert replace(many, moments=moments).times() is not None


def _summed(one: Counters, other: Counters) -> dict[int, Size]:
    mine, others = one.sizes or {}, other.sizes or {}
    return {
        n: Size(
            mine.get(n, Size(0, 0)).executions + size.executions,
            mine.get(n, Size(0, 0)).busy_s + size.busy_s,
        )
        for n, size in others.items()
    }


def test_execution_times_are_a_line() -> None:
    sizes = {size: SimpleNamespace(executions=9, busy_s=9 * (4 + 0.3 * size)) for size in (1, 4, 8)}
    line = Times.fit(sizes)  # type: ignore[arg-type]
    assert (line.a_s, line.c_s) == pytest.approx((4, 0.3))
    assert line.gain(4, 8) == pytest.approx((5.2 / 4) / (6.4 / 8))


def test_execution_times_never_fall_below_nothing() -> None:
    falling = {
        1: SimpleNamespace(executions=9, busy_s=90),
        2: SimpleNamespace(executions=9, busy_s=9),
    }
    rising = {
        1: SimpleNamespace(executions=9, busy_s=9),
        2: SimpleNamespace(executions=9, busy_s=90),
    }
    assert Times.fit(falling).c_s == 0  # type: ignore[arg-type]
    assert Times.fit(rising).a_s == 0  # type: ignore[arg-type]


def test_every_rule_has_a_cause() -> None:
    tested = {case.rule for case in CASES} | {rule for _, rule, _, _ in ENSEMBLE_CASES}
    rules = {value for value in vars(live).values() if isinstance(value, Rule)}
    assert rules - tested == {live.NO_TRAFFIC, live.IDLE_MODEL}
    assert {case.cause for case in CASES} == set(CAUSES)
    assert {cause for cause, *_ in ENSEMBLE_CASES} == set(ENSEMBLE_CAUSES)


def test_a_priority_level_has_its_own_queue() -> None:
    written = {"policies": (Policy(max_queue_size=5), Policy(max_queue_size=7))}
    assert queues.queue_limit(stage(config({**written, "priority_levels": 2}))) == 12
    open_ended = {"policies": (Policy(), Policy(max_queue_size=7)), "priority_levels": 2}
    assert queues.queue_limit(stage(config(open_ended))) == 0


def test_findings_come_worst_first() -> None:
    bad = stage(config(policy(allow_override=True)), failures=5, reasons={"BACKEND": 5})
    [(_, found)] = diagnose(watched(replace(bad, reloaded=True)))
    severities = [finding.rule.severity for finding in found]
    assert severities == [Severity.ERROR, Severity.WARNING, Severity.NOTE]

"""One small function a cause: a stage in, a finding or None out.

Each says what it needs to be sure. Wrong blame is worse than none, so where the evidence is thin
the answer is None, and ``traffic.not_enough`` says so.
"""

from __future__ import annotations

from collections.abc import Callable

from tools.doctor.causes import batching, clients, delay, ensembles, failures, queues, traffic
from tools.doctor.stage import Stage, Watched
from tools.validate.findings import Finding, Severity

Cause = Callable[[Stage], Finding | None]

CAUSES: tuple[Cause, ...] = (
    failures.not_ready,
    failures.dead_stub,
    failures.every_request_fails,
    failures.some_requests_fail,
    traffic.reloaded,
    traffic.nothing_completes,
    traffic.not_enough,
    clients.sequential,
    clients.too_few,
    clients.light,
    clients.batched,
    clients.do_not_fit,
    batching.no_dynamic_batching,
    batching.max_batch_size_one,
    batching.shapes_apart,
    batching.optional_inputs_apart,
    batching.more_instances_than_load,
    batching.alternating_cohorts,
    batching.preferred_caps_batch,
    batching.unexplained,
    batching.each_runs_alone,
    delay.in_vain,
    delay.preferred_unreached,
    queues.late_mode_stalls,
    queues.timeout_never_fires,
    queues.full,
    queues.rejects_not_counted,
)
ENSEMBLE_CAUSES: tuple[Callable[[Stage, tuple[Stage, ...]], Finding | None], ...] = (
    clients.sequential_through,
    ensembles.every_request_fails,
    ensembles.some_requests_fail,
    ensembles.refused_by_a_full_queue,
    ensembles.priorities_undone,
    ensembles.timeouts_per_stage,
    ensembles.bottleneck,
)
_ORDER = list(Severity)


Diagnosis = tuple[Stage, tuple[Finding, ...]]
"""A stage, and what was found there, the worst first."""


def diagnose(server: Watched) -> list[Diagnosis]:
    """Findings of each stage, in the order of the stages."""
    idle = traffic.all_idle(server)
    return [(stage, _of_stage(server, stage, idle)) for stage in server.stages]


def _of_stage(server: Watched, stage: Stage, everybody_idle: bool) -> tuple[Finding, ...]:
    found = [cause(stage) for cause in CAUSES]
    if stage.config.is_ensemble:
        members = server.members(stage)
        found += [cause(stage, members) for cause in ENSEMBLE_CAUSES]
    found.append(traffic.idle(stage, everybody_idle))
    return tuple(sorted(filter(None, found), key=lambda one: _ORDER.index(one.rule.severity)))

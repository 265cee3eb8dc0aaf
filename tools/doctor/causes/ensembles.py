"""Causes that show only when the stages of an ensemble are seen together."""

from __future__ import annotations

from tools.doctor.causes import failures, queues
from tools.doctor.stage import Stage
from tools.validate.findings import Finding
from tools.validate.rules import live

Stages = tuple[Stage, ...]
COUNTED_PER_FAILURE = 2
"""A stage's failure counts twice at the ensemble. Source: server docs/user_guide/metrics.md."""


def _unaccounted(ensemble: Stage, members: Stages) -> int:
    """Failures of the ensemble that no stage has counted."""
    counted = COUNTED_PER_FAILURE * sum(member.seen.failures for member in members)
    return max(0, ensemble.seen.failures - counted)


def _are_all_here(ensemble: Stage, members: Stages) -> bool:
    return {member.model.name for member in members} == set(ensemble.config.steps)


def refused_by_a_full_queue(ensemble: Stage, members: Stages) -> Finding | None:
    """Sure when the ensemble failed more often than its stages, and one of them has a limit."""
    limited = [member for member in members if queues.queue_limit(member)]
    hidden = _unaccounted(ensemble, members)
    if not limited or not hidden or not _are_all_here(ensemble, members):
        return None
    names = ", ".join(member.model.name for member in limited)
    return live.QUEUE_FULL.at(
        ensemble.place,
        f"{ensemble.seen.failures} failures of the ensemble, of which its stages account for "
        f"{ensemble.seen.failures - hidden}; max_queue_size is set on {names}",
    )


def every_request_fails(ensemble: Stage, members: Stages) -> Finding | None:
    """Said of the ensemble only where no stage explains it."""
    if any(member.seen.failures for member in members):
        return None
    if ensemble.seen.requests or ensemble.seen.failures < failures.MIN_FAILURES:
        return None
    if refused_by_a_full_queue(ensemble, members):
        return None
    return live.EVERY_REQUEST_FAILS.at(ensemble.place, failures.describe(ensemble))


def some_requests_fail(ensemble: Stage, members: Stages) -> Finding | None:
    """Said of the ensemble only where neither a stage nor a full queue explains it."""
    failed, succeeded = ensemble.seen.failures, ensemble.seen.requests
    if not succeeded or failed < max(1, failures.MIN_SHARE * (failed + succeeded)):
        return None
    if any(member.seen.failures for member in members):
        return None
    if refused_by_a_full_queue(ensemble, members):
        return None
    return live.SOME_REQUESTS_FAIL.at(ensemble.place, failures.describe(ensemble))


def priorities_undone(ensemble: Stage, members: Stages) -> Finding | None:
    """The configurations alone make it sure, when the first stage has fewer levels than another."""
    if not _are_all_here(ensemble, members):
        return None
    levels = {
        member.model.name: member.config.batching.priority_levels if member.config.batching else 0
        for member in members
    }
    first = next(iter(levels.values()), 0)
    differing = {count for count in levels.values() if count} - {first}
    if not differing:
        return None
    return live.PRIORITIES_UNDONE.at(
        ensemble.place,
        "priority_levels: " + ", ".join(f"{name} {count}" for name, count in levels.items()),
    )


def timeouts_per_stage(ensemble: Stage, members: Stages) -> Finding | None:
    """The configurations alone make it sure."""
    timeouts_ms = {member.model.name: 1e3 * _longest_timeout_s(member) for member in members}
    parts = [f"{name} {timeout:g}" for name, timeout in timeouts_ms.items() if timeout]
    if len(parts) < 2:
        return None
    return live.TIMEOUTS_PER_STAGE.at(
        ensemble.place,
        f"a request may wait {' + '.join(parts)} = {sum(timeouts_ms.values()):g} ms, and the "
        "executions come on top",
    )


def _longest_timeout_s(stage: Stage) -> float:
    policies = stage.config.batching.policies if stage.config.batching else ()
    return max((policy.timeout_s for policy in policies if not policy.delays), default=0.0)


def bottleneck(ensemble: Stage, members: Stages) -> Finding | None:
    """Sure when one stage holds a quarter of the ensemble's time, and half more than the next."""
    if not ensemble.is_enough or not members or not _are_all_here(ensemble, members):
        return None
    *others, worst = sorted(members, key=lambda member: member.seen.queue_s)
    share = worst.queue_s / ensemble.latency_s
    next_s = others[-1].queue_s if others else 0.0
    if share < 0.25 or worst.queue_s < 1.5 * next_s:
        return None
    busy = "" if worst.utilisation is None else f", its instances busy {worst.utilisation:.0%}"
    return live.BOTTLENECK.at(
        ensemble.place,
        f"{worst.model.name}: {1e3 * worst.queue_s:.1f} of {1e3 * ensemble.latency_s:.1f} ms in "
        f"its queue{busy}",
    )

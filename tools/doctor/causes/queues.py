"""Queue policies: what they cost, what they do not do, and what they hide."""

from __future__ import annotations

from itertools import pairwise

from tools.doctor.stage import Moment, Stage
from tools.validate.findings import Finding
from tools.validate.rules import live

MIN_IDLE_S, MAX_IDLE_S = 0.25, 1.1
"""The batcher looks again every 500 ms at the latest; the sampling takes a part of that."""
MIN_STALLS = 2
"""One may be the machine's own pause."""
FULL = "Exceeds maximum queue size"


def late_mode_stalls(stage: Stage) -> Finding | None:
    """Sure when nothing was executed for a while, twice, and what came next had queued as long.

    Not asked of a stage whose delay or execution takes that long itself.
    """
    batching = stage.config.batching
    if batching is None or not batching.late or stage.config.delay_s > 0.1:
        return None
    stalls = _stalls_s(stage)
    if len(stalls) < MIN_STALLS:
        return None
    return live.LATE_MODE_STALLS.at(
        stage.place,
        f"{len(stalls)} times in {stage.window_s:.1f} s no request ended for about "
        f"{max(stalls):.1f} s, though some waited and an execution takes "
        f"{1e3 * (stage.execution_s or 0):.0f} ms",
    )


def _stalls_s(stage: Stage) -> list[float]:
    """How long an instance was idle at least, each time that requests queued meanwhile.

    A gap between samples that is far above the usual one is the doctor's own pause, and maybe
    the machine's, so it proves nothing.
    """
    execution_s = stage.execution_s
    if execution_s is None or execution_s > 0.15:
        return []
    usual_s = stage.window_s / (len(stage.moments) - 1)
    stalls: list[float] = []
    quiet_since = stage.moments[0]
    sound = True
    for before, after in pairwise(stage.moments):
        sound = sound and after.at_s - before.at_s < 2.5 * usual_s
        if after.counters.executions == before.counters.executions:
            continue
        idle_s = before.at_s - quiet_since.at_s - execution_s
        waited = _wait_s(before, after) >= max(MIN_IDLE_S, 0.6 * idle_s)
        if sound and waited and MIN_IDLE_S <= idle_s <= MAX_IDLE_S:
            stalls.append(before.at_s - quiet_since.at_s)
        quiet_since, sound = after, True
    return stalls


def _wait_s(before: Moment, after: Moment) -> float:
    """Mean wait of the requests that ended between two samples."""
    added = after.counters.since(before.counters)
    return added.queue_s / added.requests if added.requests else 0.0


def timeout_never_fires(stage: Stage) -> Finding | None:
    """The configuration alone makes it sure."""
    policies = stage.config.batching.policies if stage.config.batching else ()
    if not any(policy.allow_override and not policy.timeout_s for policy in policies):
        return None
    return live.TIMEOUT_NEVER_FIRES.at(
        stage.place, "allow_timeout_override: true, default_timeout_microseconds: 0"
    )


def full(stage: Stage) -> Finding | None:
    """Sure when the gauge stood at the limit, or an answer to the probe says so."""
    limit = queue_limit(stage)
    if not limit:
        return None
    refused = sum(FULL in error for error in (stage.probe.errors if stage.probe else ()))
    pending = [moment.pending for moment in stage.moments if moment.pending is not None]
    at_limit = sum(one >= limit for one in pending)
    if refused:
        return live.QUEUE_FULL.at(
            stage.place, f"max_queue_size {limit}; {refused} requests of the probe were refused"
        )
    if not at_limit:
        return None
    return live.QUEUE_FULL.at(
        stage.place,
        f"max_queue_size {limit}; at the limit in {at_limit} of {len(pending)} samples",
    )


def queue_limit(stage: Stage) -> int:
    """Requests that can wait on all levels together; 0 is no bound."""
    batching = stage.config.batching
    if batching is None:
        return 0
    sizes = [policy.max_queue_size for policy in batching.policies]
    levels = max(1, batching.priority_levels)
    written = sizes[1:] + sizes[:1] * (levels - len(sizes[1:]))  # the default one for the others
    return sum(written) if all(written) else 0


def rejects_not_counted(stage: Stage) -> Finding | None:
    """The configuration alone makes it sure; said where nothing shows that some were refused."""
    policies = stage.config.batching.policies if stage.config.batching else ()
    if full(stage) is not None or not any(policy.max_queue_size for policy in policies):
        return None
    return live.REJECTS_NOT_COUNTED.at(
        stage.place, f"max_queue_size {max(policy.max_queue_size for policy in policies)}"
    )

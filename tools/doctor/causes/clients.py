"""Causes that lie with whoever sends the requests."""

from __future__ import annotations

from tools.doctor.stage import Stage
from tools.validate.findings import Finding
from tools.validate.rules import live

HAND_OFF_S = 2e-3
"""Between Triton's threads, on a busy machine."""
MIN_PARTS = 5
MEET_BY_CHANCE = 1.25
"""Requests an execution of two callers that a busy machine brings together now and then."""


def sequential(stage: Stage) -> Finding | None:
    """Sure when about one request is in flight on the whole, never two, and none waits for another.

    A request from outside, such as a health check, may meet one of the client's now and then.
    """
    if not (stage.could_merge or stage.runs_each_alone) or stage.is_member:
        return None
    waits = stage.queue_s - stage.config.delay_s > HAND_OFF_S + 0.05 * stage.latency_s
    if waits or stage.merged > 1.02 or not are_always(stage, 1):
        return None
    return live.SEQUENTIAL_CLIENT.at(
        stage.place,
        f"{stage.in_flight:.2f} requests in flight on average, never 2; "
        f"{stage.executed_requests} requests made {stage.seen.executions} executions",
    )


def sequential_through(ensemble: Stage, members: tuple[Stage, ...]) -> Finding | None:
    """The same of an ensemble, whose requests wait in its stages only."""
    if not ensemble.is_enough or ensemble.is_member or not members:
        return None
    waited_s = sum(max(0.0, member.queue_s - member.config.delay_s) for member in members)
    waits = waited_s > HAND_OFF_S * len(members) + 0.05 * ensemble.latency_s
    merged = any(member.merged > 1.02 for member in members)
    if waits or merged or not are_always(ensemble, 1):
        return None
    return live.SEQUENTIAL_CLIENT.at(
        ensemble.place,
        f"{ensemble.in_flight:.2f} requests in flight on average, never 2, nowhere in its "
        f"{len(members)} stages",
    )


def too_few(stage: Stage) -> Finding | None:
    """Sure when so few are in flight, and never more, that no two can wait together.

    Each of N instances runs one and one more waits; only what waits beside that can be merged.
    """
    judged = stage.could_merge or stage.runs_each_alone
    if not judged or stage.merged >= MEET_BY_CHANCE or stage.is_member:
        return None
    callers = round(stage.in_flight)
    waits = stage.queue_s - stage.config.delay_s > 0.1 * stage.latency_s
    if callers < 2 or callers > (stage.config.instances or 1) + 1 or not waits:
        return None
    if not are_always(stage, callers) or _may_be_bursts(stage):
        return None
    return live.TOO_FEW_CLIENTS.at(
        stage.place,
        f"{stage.in_flight:.2f} requests in flight on average, never more than {callers}, for "
        f"{stage.config.instances or 1} instances; {stage.merged:.2f} requests an execution",
    )


def _may_be_bursts(stage: Stage) -> bool:
    """Whether more may come at a time, and go one by one, since nothing merges them.

    Callers that never stop would keep the instances busy.
    """
    idle = stage.utilisation is None or stage.utilisation < 0.9
    return stage.runs_each_alone and (idle or stage.lets_several_wait)


def are_always(stage: Stage, callers: int) -> bool:
    """Whether so many send again as soon as they are answered, and nobody else sends."""
    if not callers - 0.3 <= stage.in_flight <= callers + 0.05:
        return False
    return stage.parts >= MIN_PARTS and not stage.exceeds(callers)


def light(stage: Stage) -> Finding | None:
    """Sure when there is hardly ever a second request, however they come."""
    if not stage.could_merge or stage.merged >= 1.1:
        return None
    if stage.in_flight >= 1.25 or sequential(stage) is not None:
        return None
    return live.LIGHT_TRAFFIC.at(
        stage.place, f"{stage.in_flight:.2f} requests in flight on average"
    )


def batched(stage: Stage) -> Finding | None:
    """Sure when the mean request fills a batch, whether the server could merge others or not."""
    if not (stage.is_enough and stage.config.max_batch_size > 1 and _share(stage) >= 0.9):
        return None
    return live.BATCHED_BY_CLIENT.at(stage.place, _sizes(stage))


def do_not_fit(stage: Stage) -> Finding | None:
    """Sure when two mean requests exceed a batch, none is merged, and some wait."""
    if not (stage.is_crowded and stage.config.max_batch_size > 1 and 0.5 < _share(stage) < 0.9):
        return None
    return live.REQUESTS_DO_NOT_FIT.at(stage.place, _sizes(stage)) if stage.merged < 1.1 else None


def _share(stage: Stage) -> float:
    """Of a full batch, that a request brings."""
    return stage.request_batch / stage.config.max_batch_size


def _sizes(stage: Stage) -> str:
    return (
        f"{stage.request_batch:.1f} rows a request, max_batch_size {stage.config.max_batch_size}, "
        f"{stage.merged:.2f} requests an execution"
    )

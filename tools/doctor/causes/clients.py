"""Causes that lie with whoever sends the requests."""

from __future__ import annotations

from tools.doctor.stage import Stage
from tools.validate.findings import Finding
from tools.validate.rules import live

MIN_PARTS, MAX_PARTS = 5, 20
BUSY_CLIENT = 0.7
"""In flight, of a client that sends again at once; the rest is the way to it and back."""


def sequential(stage: Stage) -> Finding | None:
    """Sure when about one request is in flight on the whole, and never two.

    A part of the window may count a request that began before it, so its bound is a request more.
    """
    judged = stage.is_enough and (stage.batches or stage.config.is_ensemble)
    if not judged or stage.is_member or not _never_two(stage) or stage.merged >= 1.1:
        return None
    if not BUSY_CLIENT <= stage.in_flight <= 1.05:
        return None
    return live.SEQUENTIAL_CLIENT.at(
        stage.place,
        f"{stage.in_flight:.2f} requests in flight on average, never 2; "
        f"{stage.executed_requests} requests made {stage.seen.executions} executions",
    )


def _never_two(stage: Stage) -> bool:
    parts = min(MAX_PARTS, int(stage.window_s / (3 * stage.latency_s))) if stage.latency_s else 0
    if parts < MIN_PARTS:
        return False
    length_s = stage.window_s / parts
    begin = stage.moments[0]
    for moment in stage.moments[1:]:
        passed_s = moment.at_s - begin.at_s
        if passed_s >= length_s:
            in_flight = (moment.counters.request_s - begin.counters.request_s) / passed_s
            if in_flight > 1.02 + 1.5 * stage.latency_s / passed_s:
                return False
            begin = moment
    return True


def light(stage: Stage) -> Finding | None:
    """Sure when there is hardly ever a second request, however they come."""
    if not (stage.is_enough and stage.batches and stage.merged < 1.1):
        return None
    if stage.in_flight >= 1.25 or sequential(stage) is not None:
        return None
    return live.LIGHT_TRAFFIC.at(
        stage.place, f"{stage.in_flight:.2f} requests in flight on average"
    )


def batched(stage: Stage) -> Finding | None:
    """Sure when the mean request fills a batch."""
    if not (stage.is_enough and stage.batches and _share(stage) >= 0.9):
        return None
    return live.BATCHED_BY_CLIENT.at(stage.place, _sizes(stage))


def do_not_fit(stage: Stage) -> Finding | None:
    """Sure when two mean requests exceed a batch, none is merged, and some wait."""
    if not (stage.is_crowded and stage.batches and 0.5 < _share(stage) < 0.9):
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

"""Whether there is anything to judge."""

from __future__ import annotations

from tools.doctor.stage import ENOUGH_REQUESTS, Stage, Watched
from tools.validate.findings import Finding
from tools.validate.rules import live


def all_idle(server: Watched) -> bool:
    """Whether no model that was watched had any traffic."""
    return not any(_has_traffic(stage) for stage in server.stages)


def _has_traffic(stage: Stage) -> bool:
    return stage.seen.requests + stage.seen.failures > 0


def _is_stuck(stage: Stage) -> bool:
    pending = [moment.pending for moment in stage.moments]
    return not _has_traffic(stage) and all(pending)


def idle(stage: Stage, everybody: bool) -> Finding | None:
    """No request ended. ``everybody``: nor on any other model."""
    if _has_traffic(stage) or _is_stuck(stage):
        return None
    rule = live.NO_TRAFFIC if everybody else live.IDLE_MODEL
    return rule.at(stage.place, f"0 requests ended in {stage.window_s:.1f} s")


def nothing_completes(stage: Stage) -> Finding | None:
    """Sure when every sample has requests waiting, and no counter moves."""
    if not _is_stuck(stage):
        return None
    return live.NOTHING_COMPLETES.at(
        stage.place,
        f"{stage.moments[-1].pending} requests wait, 0 ended in {stage.window_s:.1f} s",
    )


def not_enough(stage: Stage) -> Finding | None:
    """Some traffic, and too little of it."""
    enough = stage.executed_requests >= ENOUGH_REQUESTS
    if enough or not stage.seen.requests or stage.config.is_ensemble:
        return None
    cached = f", {stage.seen.cache_hits} of them from the cache" if stage.seen.cache_hits else ""
    return live.NOT_ENOUGH_TRAFFIC.at(
        stage.place,
        f"{stage.seen.requests} requests in {stage.window_s:.1f} s{cached}; "
        f"not enough traffic to tell, {ENOUGH_REQUESTS} are needed",
    )


def reloaded(stage: Stage) -> Finding | None:
    """Sure when counters went back, or the model was not there from the start."""
    if not stage.reloaded:
        return None
    return live.RELOADED.at(
        stage.place, f"its counters began again; the last {stage.window_s:.1f} s are judged"
    )

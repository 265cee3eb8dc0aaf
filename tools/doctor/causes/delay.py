"""Delays that are paid and bring nothing."""

from __future__ import annotations

from tools.doctor.stage import Stage
from tools.validate.findings import Finding
from tools.validate.rules import live

MIN_DELAY_S = 200e-6
"""Shorter ones drown in the hand-off between threads."""
HAND_OFF_S = 2e-3


def in_vain(stage: Stage) -> Finding | None:
    """Sure when requests wait as long as the delay, alone, beside an idle instance."""
    delay_s = stage.config.delay_s
    if not (stage.is_enough and stage.batches and delay_s >= MIN_DELAY_S and stage.merged < 1.1):
        return None
    waits_for_delay = 0.7 * delay_s <= stage.queue_s <= 1.3 * delay_s + HAND_OFF_S
    if not waits_for_delay or stage.utilisation is None or stage.utilisation >= 0.7:
        return None
    return live.DELAY_IN_VAIN.at(stage.place, _waits(stage))


def preferred_unreached(stage: Stage) -> Finding | None:
    """Sure when no execution was as large as the smallest preferred size, and requests waited.

    Triton puts ``max_batch_size`` where nothing is preferred, so that size alone says nothing.
    """
    batching = stage.config.batching
    if batching is None or not batching.preferred or batching.delay_s < MIN_DELAY_S:
        return None
    smallest, largest = min(batching.preferred), max(stage.seen.sizes or {}, default=0)
    named = set(batching.preferred) != {stage.config.max_batch_size}
    if not (stage.is_enough and named and 0 < largest < smallest and stage.merged >= 1.1):
        return None
    if stage.queue_s < 0.4 * batching.delay_s or (stage.utilisation or 1.0) >= 0.9:
        return None
    return live.PREFERRED_UNREACHED.at(
        stage.place,
        f"the smallest preferred_batch_size is {smallest}, the largest batch was {largest}; "
        f"{_waits(stage)}",
    )


def _waits(stage: Stage) -> str:
    return (
        f"requests wait {1e3 * stage.queue_s:.1f} ms, the delay is "
        f"{1e3 * stage.config.delay_s:g} ms; instances busy {stage.utilisation or 0:.0%}, "
        f"{stage.merged:.2f} requests an execution"
    )

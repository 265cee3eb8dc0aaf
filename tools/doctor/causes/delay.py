"""Delays that are paid and bring nothing."""

from __future__ import annotations

from tools.doctor.causes.clients import are_always
from tools.doctor.stage import Stage
from tools.validate.findings import Finding
from tools.validate.rules import live

MIN_DELAY_S = 200e-6
"""Shorter ones drown in the hand-off between threads."""
HAND_OFF_S = 2e-3


def in_vain(stage: Stage) -> Finding | None:
    """Sure when requests wait as long as the delay beside an idle instance, and nobody joins them.

    They are alone, or all were there when the delay began.
    """
    delay_s = stage.config.delay_s
    if not (stage.is_enough and stage.batches and delay_s >= MIN_DELAY_S):
        return None
    waits_for_delay = 0.7 * delay_s <= stage.queue_s <= 1.3 * delay_s + HAND_OFF_S
    if not waits_for_delay or stage.utilisation is None or stage.utilisation >= 0.7:
        return None
    alone = stage.merged < 1.1
    if not (alone or _came_together(stage)) or preferred_unreached(stage) is not None:
        return None
    return live.DELAY_IN_VAIN.at(stage.place, _waits(stage))


def _came_together(stage: Stage) -> bool:
    """Whether the requests of a batch wait the whole delay, though it is longer than an execution.

    Of n in a batch the first waits for the delay; when the others come within its first fifth, the
    mean wait is 1 - 0.2 (n - 1) / n of it or more, and of independent arrivals (n + 1) / 2n. A busy
    instance adds to the wait, so it must be rare, or all callers there are must be in each batch.

    A shorter delay than an execution may pay: without one the batch would become two.
    """
    run_s, delay_s, n = stage.execution_s, stage.config.delay_s, stage.merged
    if run_s is None or delay_s < run_s or n < 1.5:
        return False
    rarely_busy = (stage.utilisation or 0.0) * run_s <= 0.1 * delay_s
    all_there = 0.9 <= n / stage.in_flight <= 1.1 and are_always(stage, round(stage.in_flight))
    return stage.queue_s >= delay_s * (1 - 0.2 * (n - 1) / n) and (rarely_busy or all_there)


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

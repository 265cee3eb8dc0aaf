"""Causes that keep requests apart which are there at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tools.doctor.stage import Stage
from tools.validate.findings import Finding
from tools.validate.rules import live

WORTH_WHILE = 1.1
"""Gain in throughput below which larger batches are not worth a word."""
FAR_WORTH_WHILE = 1.25
MIN_SAMPLES = 10
"""Of the pending gauge."""


def _load(stage: Stage) -> str:
    return (
        f"{stage.in_flight:.1f} requests in flight, {stage.waiting:.1f} of them waiting, "
        f"instances busy {stage.utilisation or 0:.0%}, {stage.merged:.2f} requests an execution"
    )


def no_dynamic_batching(stage: Stage) -> Finding | None:
    """Sure when several wait at a time for an instance that could have taken them at once."""
    config = stage.config
    if not stage.runs_each_alone or config.max_batch_size < 2:
        return None
    if not (stage.is_crowded or stage.lets_several_wait):
        return None
    return live.NO_DYNAMIC_BATCHING.at(
        stage.place, f"max_batch_size {config.max_batch_size}, no dynamic_batching; {_load(stage)}"
    )


def max_batch_size_one(stage: Stage) -> Finding | None:
    """Sure when several wait at a time, and one row is all that an execution may have."""
    if not stage.runs_each_alone or stage.config.max_batch_size > 1:
        return None
    if not (stage.is_crowded or stage.lets_several_wait):
        return None
    return live.MAX_BATCH_SIZE_ONE.at(
        stage.place, f"max_batch_size {stage.config.max_batch_size}; {_load(stage)}"
    )


def each_runs_alone(stage: Stage) -> Finding | None:
    """The configuration alone makes it sure; said where no two are known to have waited."""
    if not stage.runs_each_alone or no_dynamic_batching(stage) or max_batch_size_one(stage):
        return None
    config = stage.config
    how = "dynamic_batching" if config.batching else "no dynamic_batching"
    return live.EACH_RUNS_ALONE.at(
        stage.place,
        f"max_batch_size {config.max_batch_size}, {how}; {stage.in_flight:.2f} requests in "
        f"flight, which wait {1e3 * stage.queue_s:.1f} of {1e3 * stage.latency_s:.1f} ms",
    )


def shapes_apart(stage: Stage) -> Finding | None:
    """Sure of the effect when requests wait and run apart; of the cause by what the config has."""
    names = [one.name for one in stage.config.inputs if one.keeps_apart]
    if not (names and stage.is_kept_apart) or _is_capped(stage):
        return None
    optional = "; optional inputs may keep them apart as well" if _optional(stage) else ""
    return live.SHAPES_APART.at(
        stage.place,
        f"input {', '.join(names)} may differ in shape; {_load(stage)}, "
        f"{stage.potential:.1f} could be{optional}",
    )


def optional_inputs_apart(stage: Stage) -> Finding | None:
    """As ``shapes_apart``, where no input may differ in shape."""
    names = _optional(stage)
    if not (names and stage.is_kept_apart) or _is_capped(stage):
        return None
    if any(one.keeps_apart for one in stage.config.inputs):
        return None
    return live.OPTIONAL_INPUTS_APART.at(
        stage.place,
        f"input {', '.join(names)} is optional; {_load(stage)}, {stage.potential:.1f} could be",
    )


def _optional(stage: Stage) -> list[str]:
    return [one.name for one in stage.config.inputs if one.optional]


def more_instances_than_load(stage: Stage) -> Finding | None:
    """Sure when several requests are in flight, hardly one waits, and most run alone.

    Not said where the measured times tell that larger batches save nothing.
    """
    instances = stage.config.instances or 1
    alone = stage.merged < max(1.1, min(1.5, 0.6 * stage.in_flight))
    if not (stage.could_merge and instances > 1 and alone):
        return None
    waits = stage.queue_s - stage.config.delay_s > 0.1 * stage.latency_s
    times = stage.times()
    futile = times is not None and times.gain(1, 2) < WORTH_WHILE
    if waits or futile or not 1.25 <= stage.in_flight <= instances + 0.2:
        return None
    return live.MORE_INSTANCES_THAN_LOAD.at(
        stage.place,
        f"{instances} instances for {stage.in_flight:.1f} requests in flight, of which "
        f"{stage.waiting:.1f} wait; {stage.merged:.2f} requests an execution",
    )


def alternating_cohorts(stage: Stage) -> Finding | None:
    """Sure when one half waits all the time, and batches are as large as that half.

    What independent arrivals leave waiting grows from nothing during each execution; callers that
    return together are there from its start. Only the pending gauge tells the two apart. One
    instance only, and no stage of an ensemble, where halves in different stages may be just right.
    """
    if not (stage.is_crowded and stage.batches and stage.config.instances == 1):
        return None
    run_s, times = stage.execution_s, stage.times()
    if stage.is_member or run_s is None or times is None or stage.config.delay_s >= run_s:
        return None
    whole = min(float(stage.config.max_batch_size), stage.in_flight * stage.request_batch)
    gain = times.gain(stage.mean_batch, whole)
    in_step = _waits_in_step(stage) and 1.7 <= stage.in_flight / stage.merged <= 2.3
    if not in_step or _spread(dict(_rows(stage))) > 0.35 or gain < WORTH_WHILE:
        return None
    return live.ALTERNATING_COHORTS.at(
        stage.place,
        f"{stage.in_flight:.1f} requests in flight run as batches of {stage.mean_batch:.1f}; they "
        f"wait {1e3 * stage.queue_s:.1f} ms and run {1e3 * run_s:.1f} ms; delay "
        f"{1e3 * stage.config.delay_s:g} ms; whole batches would do {gain:.2f} times as many rows "
        "a second",
    )


def _waits_in_step(stage: Stage) -> bool:
    """Whether about as many requests as run were waiting in every sample."""
    pending = Counter(m.pending for m in stage.moments if m.pending is not None)
    if sum(pending.values()) < MIN_SAMPLES:
        return False
    mean = sum(n * count for n, count in pending.items()) / sum(pending.values())
    return 0.7 <= mean / stage.merged <= 1.3 and _spread(pending) <= 0.45


def _rows(stage: Stage) -> Iterator[tuple[int, int]]:
    """Batch sizes, and rows in batches of that size."""
    return ((size, size * one.executions) for size, one in (stage.seen.sizes or {}).items())


def _spread(counts: Mapping[int, int]) -> float:
    """Standard deviation over mean, of numbers that came so many times each."""
    total = sum(counts.values())
    mean = sum(number * count for number, count in counts.items()) / total
    variance = sum(count * (number - mean) ** 2 for number, count in counts.items()) / total
    return float(variance**0.5 / mean)


def preferred_caps_batch(stage: Stage) -> Finding | None:
    """Sure when batches stop at the largest preferred size, more waited, and more would pay."""
    if not (_is_capped(stage) and stage.is_crowded and stage.config.batching):
        return None
    largest, times = max(stage.config.batching.preferred), stage.times()
    possible = stage.in_flight * stage.request_batch / ((stage.config.instances or 1) + 1)
    if possible < 1.5 * largest or times is None:
        return None
    gain = times.gain(largest, min(possible, stage.config.max_batch_size))
    if gain < FAR_WORTH_WHILE:
        return None
    return live.PREFERRED_CAPS_BATCH.at(
        stage.place,
        f"preferred_batch_size up to {largest}, max_batch_size {stage.config.max_batch_size}; "
        f"{_load(stage)}; larger batches would do {gain:.2f} times as many rows a second",
    )


def _is_capped(stage: Stage) -> bool:
    batching = stage.config.batching
    if batching is None or not batching.preferred or batching.delay_s:
        return False
    largest = max(batching.preferred)
    return largest < stage.config.max_batch_size and stage.mean_batch >= 0.8 * largest


def unexplained(stage: Stage) -> Finding | None:
    """Kept apart, and nothing here says why."""
    if not stage.is_kept_apart or _is_capped(stage) or _optional(stage):
        return None
    if any(one.keeps_apart for one in stage.config.inputs):
        return None
    return live.UNEXPLAINED.at(stage.place, f"{_load(stage)}, {stage.potential:.1f} could be")

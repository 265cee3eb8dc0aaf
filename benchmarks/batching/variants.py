"""What is compared: the profiles, and settings beside them that show why they are as they are."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from benchmarks.batching.sleepers import (
    CPU_LIKE,
    MAX_BATCH_SIZE,
    PREPROCESS_BOUND,
    SINGLE,
    TANDEM,
    Cost,
    Costs,
    Fields,
    Variant,
    of_profile,
)

SMALL_BATCH = 8
"""So that 64 waiting requests are eight batches, and the next one matters."""
SLOW_MS = 2000.0
TIMEOUT_MS = 100.0


def priorities(
    costs: Costs, prefix: str = "", max_batch_size: int = MAX_BATCH_SIZE
) -> list[Variant]:
    """No priorities; the profile; without the last stage; without the first; two last instances."""
    full = of_profile("priority", costs, prefix, max_batch_size)
    return [
        of_profile("interactive", costs, prefix, max_batch_size),
        full,
        _without(full, "postprocess", "but-last-stage"),
        _without(full, "preprocess", "but-first-stage"),
        replace(full, name=f"{full.name}-two-postprocess", instances={"postprocess": 2}),
    ]


def _without(full: Variant, stage: str, name: str) -> Variant:
    return replace(full, name=f"{full.name}-{name}", batching=full.batching | {stage: {}})


def _refusing(name: str, policy: Fields, *stages: str) -> Variant:
    batching = {s: {"default_queue_policy": policy} if s in stages else {} for s in TANDEM}
    return Variant(name, TANDEM, dict(batching))


_OVERLOAD = of_profile("overload", TANDEM)
_TIMEOUT = (_OVERLOAD.batching["classifier"] or {})["default_queue_policy"]
_PROFILES = ("baseline", "recipe-interactive", "recipe-bulk", "bulk")
_ALL = (
    *(of_profile(name, TANDEM) for name in _PROFILES),
    *priorities(TANDEM),
    _OVERLOAD,
    _refusing("timeout-at-every-stage", _TIMEOUT, *TANDEM),
    _refusing("max-queue-size-64", {"max_queue_size": 64}, "preprocess", "classifier"),
)
T = {variant.name: variant for variant in _ALL}
"""Variants of the tandem, by name."""

_RECIPES = ("interactive", "recipe-interactive", "recipe-bulk", "bulk")
_LATE = ("priority", "priority-but-last-stage", "overload")
COMPARED_AT = {
    0.1: ("interactive", "bulk", *_LATE),
    0.45: (*_RECIPES, *_LATE),
    0.7: _RECIPES,
    0.9: (*_RECIPES, *_LATE, "priority-two-postprocess"),
}
"""Load, as a share of the capacity, to the variants of the tandem that are compared there."""
STAGED = {
    "tandem": [T[name] for name in ("interactive", "bulk", "recipe-bulk")],
    "single stage": [of_profile(name, SINGLE, "single-") for name in ("interactive", "bulk")],
}
SATURATED = {
    "tandem": [T["baseline"], T["interactive"]],
    "CPU-like": [of_profile(name, CPU_LIKE, "cpu-") for name in ("baseline", "interactive")],
}
OVERLOADED = [
    T[name] for name in ("interactive", "overload", "timeout-at-every-stage", "max-queue-size-64")
]
MIXED = [T[name] for name in ("interactive", "priority", "priority-but-last-stage")]
PAIRS = [T[name] for name in ("interactive", "priority", "overload")]
SLOW = Variant(
    "slow",
    {"classifier": Cost(SLOW_MS, 0)},
    {
        "classifier": {
            "default_queue_policy": {
                "timeout_action": "REJECT",
                "default_timeout_microseconds": int(TIMEOUT_MS * 1e3),
            }
        }
    },
    max_batch_size=1,
)
ON_ONE_SERVER = {
    variant.name: variant
    for variant in (*_ALL, *chain(*STAGED.values(), *SATURATED.values()), SLOW)
}

_BOUND = priorities(PREPROCESS_BOUND, "preprocess-bound-", SMALL_BATCH)
BURST = [*priorities(TANDEM, "small-", SMALL_BATCH), _BOUND[1], _BOUND[3]]
"""Served by a server of their own, which traces."""

"""The differences at equal load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tools.record.curves import Curve, Values, common_rounds
from tools.record.difference import QUANTITIES, Difference, Question
from tools.record.intervals import MIN_ROUNDS, estimate
from tools.record.noise import Effect, middle_of, of_loads, over_loads
from tools.record.record import Load
from tools.record.samples import Floats

Pairs = Mapping[int, tuple[Values, Values]]
"""Target and first, by round."""
Logs = Mapping[int, float]
"""Logarithms of ratios, by round; not finite where one failed, empty where one is not known."""


@dataclass(frozen=True)
class Pair:
    """A target and the first one along one curve."""

    curve: Curve
    target: str
    against: str

    def difference(self, quantity: str, load: Load | None, rounds: int) -> Difference:
        """Without its values."""
        curve = (self.curve.protocol, self.curve.kind, self.curve.arrivals)
        return Difference(quantity, load, *curve, self.target, self.against, rounds)

    def by_load(self) -> dict[Load, Pairs]:
        """At the loads that both have."""
        mine, first = (self.curve.targets[name] for name in (self.target, self.against))
        return {
            load: {
                n: (mine[load][n], first[load][n]) for n in common_rounds(mine[load], first[load])
            }
            for load in mine
            if load in first
        }

    def decides(self, quantity: str) -> bool:
        """Whether a winner is named by it; in an open loop requests come whatever is answered."""
        is_closed = self.curve.kind == "closed"
        return quantity == "p95_ms" or (quantity == "throughput_per_s" and is_closed)


def at_loads(pair: Pair) -> Iterator[Question]:
    """Every quantity at each load, then over all."""
    by_load = pair.by_load()
    for quantity in QUANTITIES:
        logs = {load: _logs(pairs, quantity) for load, pairs in by_load.items()}
        effects = of_loads([_array(one) for one in logs.values()])
        for (load, pairs), effect in zip(by_load.items(), effects, strict=True):
            difference = pair.difference(quantity, load, len(pairs))
            asked = _question(difference, pairs, logs[load], effect)
            yield asked if pair.decides(quantity) else asked._replace(effect=None)
        if pair.decides(quantity):
            yield from _over_all(pair, quantity, logs)


def _array(logs: Logs) -> Floats:
    return np.array([*logs.values()], np.float64)


def _logs(pairs: Pairs, quantity: str) -> Logs:
    values = {n: (getattr(a, quantity), getattr(b, quantity)) for n, (a, b) in pairs.items()}
    if any(None in both for both in values.values()):
        return {}
    return {n: _log_ratio(*both) for n, both in values.items()}


def _log_ratio(value: float, to: float) -> float:
    """Infinite where one of them is 0 or infinite, no number where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.log(value) - np.log(to))


def _question(difference: Difference, pairs: Pairs, logs: Logs, effect: Effect | None) -> Question:
    ratios = _array(logs)
    if not len(ratios):
        few = f"a round has too few requests for {difference.quantity.partition('_')[0]}"
        reason = few if pairs else "no round in which both count"
        return Question(replace(difference, reason=reason), None)
    if not np.isfinite(ratios).all():
        bad = f"in {int((~np.isfinite(ratios)).sum())} of {len(ratios)} rounds"
        reason = f"too many requests failed {bad}: {_shares(difference, pairs)}"
        return Question(replace(difference, reason=reason), _failing(difference, pairs))
    return Question(replace(difference, ratio=estimate(np.exp(ratios))), effect)


def _shares(difference: Difference, pairs: Pairs) -> str:
    """How many failed, for a reader."""
    words = []
    for place, name in enumerate((difference.target, difference.against)):
        asked = sum(both[place].requests for both in pairs.values())
        served = sum(both[place].served for both in pairs.values())
        words.append(f"{1 - served / asked:.1%} of {name}'s")
    return " and ".join(words)


def _failing(difference: Difference, pairs: Pairs) -> Effect | None:
    """Where a latency is infinite, the one that failed more is the slower.

    No surer than requests that fail independently of each other let it be.
    """
    both = [
        (mine.served / mine.requests, first.served / first.requests)
        for mine, first in pairs.values()
    ]
    sign = -1.0 if difference.lower_is_better else 1.0
    effect = Effect.of(np.array([sign * (mine - first) for mine, first in both]))
    mean = float(np.mean(both))
    each = [1 / one.requests for pair in pairs.values() for one in pair]
    least = math.sqrt(mean * (1 - mean) * sum(each)) / len(pairs)
    return effect and effect.with_error(least, effect.freedom)


def _over_all(pair: Pair, quantity: str, logs: Mapping[Load, Logs]) -> Iterator[Question]:
    """The middle load of each round; loads count that all rounds have, and where one answered."""
    loads = [one for one in logs.values() if len(one) >= MIN_ROUNDS]
    loads = [one for one in loads if not np.isnan(_array(one)).any()]
    common = common_rounds(*loads)
    if len(loads) < 2 or not common:
        return
    by_load = [np.array([one[n] for n in common]) for one in loads]
    middle = middle_of(by_load)
    difference = pair.difference(quantity, None, len(common))
    if np.isfinite(middle).all():
        ratio = estimate(np.exp(middle))
        yield Question(replace(difference, ratio=ratio), over_loads(by_load))
    else:
        yield Question(replace(difference, reason="too many requests failed"), None)

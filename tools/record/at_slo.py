"""The most that targets serve within the SLO: where p95 crosses the line, round by round."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tools.record.curves import Rounds, common_rounds
from tools.record.difference import Difference, Question
from tools.record.intervals import Estimate, estimate
from tools.record.noise import Effect
from tools.record.record import Load


class Known(IntEnum):
    """What the loads that were tried say of a value."""

    AT_MOST = -1
    EXACTLY = 0
    AT_LEAST = 1


WORDS = {Known.AT_MOST: "at most", Known.EXACTLY: None, Known.AT_LEAST: "at least"}


class Point(NamedTuple):
    """One load in one round."""

    p95_ms: float
    throughput_per_s: float


class Limit(NamedTuple):
    """Throughput within the SLO in one round, and whether the loads that were tried reach it."""

    throughput_per_s: float
    known: Known


Limits = Mapping[int, Limit]
"""By round."""


@dataclass(frozen=True)
class Sustained:
    """The most answers a second that a target gives within the SLO.

    Attributes:
        target: its name.
        throughput_per_s: None where no load was within the SLO, or the rounds contradict each
            other.
        bound: ``at least``: in some round every load tried was within the SLO; ``at most``: in
            some round already the least was not; ``none``: in no round was any; None: it was
            reached, or nothing is known.
        rounds: that count.
    """

    target: str
    throughput_per_s: Estimate | None
    bound: str | None
    rounds: int


def limits(loads: Mapping[Load, Rounds], slo_ms: float) -> dict[int, Limit]:
    """Of each round that has all loads, ascending."""
    curves = [
        {
            n: Point(one.p95_ms, one.throughput_per_s)
            for n, one in rounds.items()
            if one.p95_ms is not None
        }
        for rounds in loads.values()
    ]
    curves = [points for points in curves if points]
    return {n: limit([points[n] for points in curves], slo_ms) for n in common_rounds(*curves)}


def limit(curve: Sequence[Point], slo_ms: float) -> Limit:
    """Of one round's loads, ascending.

    Up to the last load within the SLO, and on towards the next as far as p95 stays within, were its
    logarithm a straight line. Where already the least load is outside, its throughput is too much.
    """
    inside = [place for place, point in enumerate(curve) if point.p95_ms <= slo_ms]
    if not inside:
        return Limit(curve[0].throughput_per_s, Known.AT_MOST)
    best = max(curve[place].throughput_per_s for place in inside)
    if inside[-1] == len(curve) - 1:
        return Limit(best, Known.AT_LEAST)
    last, following = curve[inside[-1]], curve[inside[-1] + 1]
    return Limit(max(best, _crossing(last, following, slo_ms)), Known.EXACTLY)


def _crossing(inside: Point, outside: Point, slo_ms: float) -> float:
    """Throughput at the crossing; no more than inside where p95 outside is infinite."""
    if inside.p95_ms <= 0 or math.isinf(outside.p95_ms):
        return inside.throughput_per_s
    share = math.log(slo_ms / inside.p95_ms) / math.log(outside.p95_ms / inside.p95_ms)
    return inside.throughput_per_s + share * (outside.throughput_per_s - inside.throughput_per_s)


def sustained(target: str, found: Limits) -> Sustained:
    """Over rounds."""
    known = _of_all(one.known for one in found.values())
    if found and all(one.known is Known.AT_MOST for one in found.values()):
        return Sustained(target, None, "none", len(found))
    if known is None:
        return Sustained(target, None, None, len(found))
    value = estimate([one.throughput_per_s for one in found.values()])
    return Sustained(target, value, WORDS[known], len(found))


def _of_all(known: Iterable[Known]) -> Known | None:
    """What may be said of a mean; None where some are at most and some at least."""
    bounds = {one for one in known if one is not Known.EXACTLY}
    return None if len(bounds) == 2 else next(iter(bounds), Known.EXACTLY)


def question(difference: Difference, mine: Limits, first: Limits) -> Question:
    """Of the rounds that tell: not those in which both are beyond the loads on the same side."""
    pairs = [(mine[n], first[n]) for n in common_rounds(mine, first)]
    telling = [
        (a, b)
        for a, b in pairs
        if (a.known is not b.known or a.known is Known.EXACTLY)
        and min(a.throughput_per_s, b.throughput_per_s) > 0
    ]
    known = _of_all(Known(max(-1, min(1, a.known - b.known))) for a, b in telling)
    difference = replace(difference, rounds=len(telling))
    if not telling or known is None:
        return Question(replace(difference, reason=_reason(pairs)), None)
    logs = np.log([a.throughput_per_s / b.throughput_per_s for a, b in telling])
    found = replace(difference, ratio=estimate(np.exp(logs)), bound=WORDS[known])
    return Question(found, Effect.of(logs))


def _reason(pairs: Sequence[tuple[Limit, Limit]]) -> str:
    both = {known for pair in pairs for _, known in pair}
    if not pairs:
        return "no round in which both have every load"
    if both == {Known.AT_LEAST}:
        return "both are within the SLO at every load tried"
    if both == {Known.AT_MOST}:
        return "both are outside the SLO already at the least load"
    return "the rounds contradict each other"

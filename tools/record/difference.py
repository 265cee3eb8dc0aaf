"""A target over the first one in one quantity, and who wins when all of a record are judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tools.record.intervals import Estimate
from tools.record.noise import Effect, beyond, detectable
from tools.record.record import Load

QUANTITIES = ("p95_ms", "throughput_per_s", "p50_ms", "p99_ms")
AT_SLO = "throughput_at_slo_per_s"


@dataclass(frozen=True)
class Difference:
    """One quantity of a target over that of the first target, paired by round.

    Failed requests count as infinitely late here. A winner is named by p95, in a closed loop by
    throughput too, and at the SLO; the other quantities are described only, since each further look
    makes all of them less sure.

    Attributes:
        quantity: one of ``QUANTITIES``, or ``AT_SLO``.
        load: at which; None: over all loads, or at the SLO.
        protocol: of both.
        kind: ``closed`` or ``open``.
        arrivals: of an open load.
        target: its name.
        against: the first target's.
        rounds: in which both count.
        ratio: of target to against, with its 95% interval; None where it can't be had.
        bound: ``at least`` or ``at most`` where one of the two is beyond the loads tried.
        winner: name of the better one; None: no difference beyond noise, or described only.
        detectable: the relative difference that would have had a winner five times in six, such as
            0.08; None where there is no ratio or no winner is ever named.
        reason: why there is no ratio.
    """

    quantity: str
    load: Load | None
    protocol: str
    kind: str
    arrivals: str | None
    target: str
    against: str
    rounds: int
    ratio: Estimate | None = None
    bound: str | None = None
    winner: str | None = None
    detectable: float | None = None
    reason: str | None = None

    @property
    def lower_is_better(self) -> bool:
        """Of a latency."""
        return self.quantity.endswith("_ms")


class Question(NamedTuple):
    """A difference that waits for its winner.

    The effect is above 0 where the target has more of the quantity; without one nobody wins.
    """

    difference: Difference
    effect: Effect | None


def judged(questions: Sequence[Question]) -> list[Difference]:
    """All differences of a record with their winners: the more are asked, the more it takes."""
    effects = [question.effect for question in questions if question.effect is not None]
    verdicts = iter(beyond(effects))
    return [
        difference
        if effect is None
        else _judged(difference, effect, bool(next(verdicts)), len(effects))
        for difference, effect in questions
    ]


def _judged(difference: Difference, effect: Effect, is_beyond: bool, looks: int) -> Difference:
    more = bool(effect.mean > 0)
    winner = difference.against if more is difference.lower_is_better else difference.target
    impossible = "at most" if more else "at least"
    return replace(
        difference,
        winner=winner if is_beyond and difference.bound != impossible else None,
        detectable=None
        if difference.ratio is None or difference.bound
        else math.expm1(min(float(detectable(effect, looks)), 700.0)),
    )

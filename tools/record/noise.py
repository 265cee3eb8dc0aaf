"""When a difference is beyond noise: Student's t over rounds, corrected for how often one looks.

With few rounds the chance of a spread that looks small is what makes false winners, and the price
of guarding against it is high. Loads help each other: none is taken to be steadier than the middle
one, and for that more degrees of freedom are granted. How many was chosen by simulation so that
false winners stay within ``FALSE_WINNERS`` also where one load spreads three times as wide as
another, where spikes hit single cells, and where the machine drifts (docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tools.record.intervals import MIN_ROUNDS, t_beyond, t_quantile
from tools.record.samples import Floats

FALSE_WINNERS = 1e-3
"""Share of records of identical targets in which any winner is named, at most."""
LEAST = math.log(1.02)
"""A smaller effect helps nobody, however certain it is."""
SURE = 1.0
"""Standard errors above the critical value, at which five in six are found."""


@dataclass(frozen=True)
class Effect:
    """A mean over rounds, as far from 0 as its error lets it be told; of one record or of many.

    Attributes:
        mean: of logarithms of ratios, or of shares.
        error: its standard error.
        freedom: degrees of freedom to judge it by.
    """

    mean: Floats
    error: Floats
    freedom: int

    @classmethod
    def of(cls, rounds: Floats) -> Effect | None:
        """Of one value a round, on the last axis; None with fewer than three, or an infinite one.

        By itself: nothing is known but these.
        """
        number = rounds.shape[-1]
        if number < MIN_ROUNDS or not np.isfinite(rounds).all():
            return None
        error = rounds.std(axis=-1, ddof=1) / math.sqrt(number)
        return cls(rounds.mean(axis=-1), error, number - 1)

    def with_error(self, least: Floats | float, freedom: int) -> Effect:
        """The same with an error of at least ``least``, to be judged by ``freedom``."""
        return Effect(self.mean, np.maximum(self.error, least), freedom)

    def critical(self, false_winners: float) -> Floats:
        """How far from 0 the mean has to be."""
        return np.asarray(t_quantile(1 - false_winners, self.freedom) * self.error)


def of_loads(by_load: Sequence[Floats]) -> list[Effect | None]:
    """Effects at several loads, one value a round on each last axis."""
    alone = [Effect.of(rounds) for rounds in by_load]
    known = [effect for effect in alone if effect is not None]
    if len(known) < 2:
        return alone
    usual, more = _usual_error(known), 2 if len(known) < 4 else 4
    return [
        effect and effect.with_error(usual, effect.freedom + min(effect.freedom - 2, more))
        for effect in alone
    ]


def over_loads(by_load: Sequence[Floats]) -> Effect | None:
    """The effect over all loads, which have the same rounds: the middle one of each round."""
    overall = Effect.of(middle_of(by_load))
    known = [effect for effect in map(Effect.of, by_load) if effect is not None]
    if overall is None or len(known) < 2:
        return overall
    usual = 1.1 * _usual_error(known) / math.sqrt(len(known))  # a median spreads a tenth wider
    return overall.with_error(usual, overall.freedom * min(len(known) + 1, 5) // 2)


def _usual_error(effects: Sequence[Effect]) -> Floats:
    return np.asarray(np.median([effect.error for effect in effects], axis=0))


def middle_of(by_load: Sequence[Floats]) -> Floats:
    """The median over loads, round by round; no number between two infinities."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.median(np.stack(list(by_load)), axis=0))


def beyond(effects: Sequence[Effect]) -> npt.NDArray[np.bool_]:
    """Which effects, of all that were looked at, are beyond noise and matter; on the last axis.

    Source: Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    if not effects:
        return np.zeros(0, bool)
    means = np.stack([effect.mean for effect in effects], axis=-1)
    chances = np.stack([_chance(effect) for effect in effects], axis=-1)
    order = np.argsort(chances, axis=-1)
    levels = FALSE_WINNERS / np.arange(len(effects), 0, -1)
    passed = np.take_along_axis(chances, order, axis=-1) <= levels
    passed = np.logical_and.accumulate(passed, axis=-1)
    found = np.zeros_like(passed)
    np.put_along_axis(found, order, passed, axis=-1)
    return np.asarray(found & (np.abs(means) >= LEAST))


def _chance(effect: Effect) -> Floats:
    """Of such a mean or a larger one, were there no effect."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(effect.mean == 0, 0.0, effect.mean / effect.error)
    return t_beyond(t, effect.freedom)


def detectable(effect: Effect, looks: int) -> Floats:
    """The least effect that is found five times in six, when ``looks`` are taken."""
    found = effect.critical(FALSE_WINNERS / looks) + SURE * effect.error
    return np.maximum(found, LEAST)

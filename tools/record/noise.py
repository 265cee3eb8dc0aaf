"""When a difference is beyond noise: Student's t over rounds, corrected for how often one looks.

Two refinements, chosen by simulation (docs/statistics.md): the standard error of one load is never
below the middle one of all loads, since among many loads some look quiet by chance; and over all
loads the middle one counts, so that a cell that something else on the machine slowed weighs little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tools.record.intervals import MIN_ROUNDS, Floats, t_beyond, t_quantile

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
    middle = np.median([effect.error for effect in known], axis=0)
    return [effect and effect.with_error(middle, effect.freedom + 2) for effect in alone]


def over_loads(by_load: Sequence[Floats]) -> Effect | None:
    """The effect over all loads, which have the same rounds: the middle one of each round."""
    overall = Effect.of(middle_of(by_load))
    known = [effect for effect in map(Effect.of, by_load) if effect is not None]
    if overall is None or len(known) < 2:
        return overall
    middle = np.median([effect.error for effect in known], axis=0)
    return overall.with_error(1.1 * middle / math.sqrt(len(known)), 2 * overall.freedom)


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

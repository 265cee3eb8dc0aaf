"""A value with its 95% interval over rounds, and Student's t, which it takes.

Rounds are the independent unit: requests of one round share its moment of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tools.record.samples import Floats

MIN_ROUNDS = 3
"""Fewer give no interval: the spread of two values is hardly known at all."""
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over rounds, and where the true one is.

    Attributes:
        value: the mean; which one, says the function that made it.
        low: the lower end of the 95% interval; None with fewer than three rounds.
        high: its upper end.
    """

    value: float
    low: float | None = None
    high: float | None = None


def estimate(values: Sequence[float] | Floats) -> Estimate | None:
    """Geometric mean and its interval, of one value a round; None without any, or with infinities.

    On logarithms: times spread by factors, an end below 0 can't be, and the interval of a ratio is
    the same seen from either side. With a 0 among them it is ``average``.
    """
    of = np.asarray(values, np.float64)
    if not _is_known(of) or of.min() <= 0:
        return average(of)
    mean, half = mean_and_half(np.log(of))
    value, low, high = (math.exp(min(end, 700.0)) for end in (mean, mean - half, mean + half))
    return Estimate(value, low, high) if len(of) >= MIN_ROUNDS else Estimate(value)


def average(values: Sequence[float] | Floats) -> Estimate | None:
    """Plain mean and its interval, not below 0: for what may be 0 in a round, such as goodput.

    None without any value, or with infinities.
    """
    of = np.asarray(values, np.float64)
    if not _is_known(of):
        return None
    mean, half = mean_and_half(of)
    few = len(of) < MIN_ROUNDS
    return Estimate(mean) if few else Estimate(mean, max(0.0, mean - half), mean + half)


def _is_known(values: Floats) -> bool:
    return len(values) > 0 and bool(np.isfinite(values).all())


def mean_and_half(values: Floats) -> tuple[float, float]:
    """Mean, and half the length of its 95% interval; infinite with one value."""
    n = len(values)
    if n < 2:
        return float(values.mean()), math.inf
    half = t_quantile(LEVEL, n - 1) * values.std(ddof=1) / math.sqrt(n)
    return float(values.mean()), float(half)


def t_beyond(t: Floats, freedom: int) -> Floats:
    """The probability of a Student's t further from 0 than ``t``, on either side.

    Source: Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = np.arctan(np.abs(t) / math.sqrt(freedom))
    odd = freedom % 2
    term = np.cos(angle) if odd else np.ones_like(angle)
    total = np.zeros_like(angle)
    for step in range(freedom // 2):
        total += term
        term = term * np.cos(angle) ** 2 * (2 * step + 1 + odd) / (2 * step + 2 + odd)
    within = 2 / math.pi * (angle + np.sin(angle) * total) if odd else np.sin(angle) * total
    return np.asarray(np.clip(1 - within, 0.0, 1.0))


@lru_cache
def t_quantile(level: float, freedom: int) -> float:
    """The t within which, on both sides of 0, a share ``level`` lies."""
    low, high = 0.0, 1.0
    while t_beyond(np.array(high), freedom) > 1 - level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        beyond = t_beyond(np.array(middle), freedom) > 1 - level
        low, high = (middle, high) if beyond else (low, middle)
    return high

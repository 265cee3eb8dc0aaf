"""A value with its 95% interval over rounds, and Student's t, which it takes.

Rounds are the independent unit: requests of one round share its moment of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MIN_ROUNDS = 3
"""Fewer give no interval: the spread of two values is hardly known at all."""
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over rounds, and where the true one is.

    Attributes:
        value: the geometric mean; the plain one where a round has 0.
        low: the lower end of the 95% interval; None with fewer than three rounds.
        high: its upper end.
    """

    value: float
    low: float | None = None
    high: float | None = None


def estimate(values: Sequence[float] | Floats) -> Estimate | None:
    """Mean and t-interval of one value a round, none below 0; None without any or with infinities.

    On logarithms: times and rates spread by factors, an end below 0 can't be, and the interval of a
    ratio is the same seen from either side.
    """
    of = np.asarray(values, np.float64)
    if not len(of) or not np.isfinite(of).all():
        return None
    if of.min() > 0:
        mean, half = mean_and_half(np.log(of))
        ends = (mean, mean - half, mean + half)
        value, low, high = (math.exp(min(end, 700.0)) for end in ends)
    else:
        mean, half = mean_and_half(of)
        value, low, high = mean, max(0.0, mean - half), mean + half
    return Estimate(value, low, high) if len(of) >= MIN_ROUNDS else Estimate(value)


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

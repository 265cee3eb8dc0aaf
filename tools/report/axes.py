"""Axes of a chart: from values to a place along them, and round values to mark."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tools.report.words import number

_LEAST, _MOST = 1e-9, 1e12
"""What an axis shows at the most."""


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        title: of it, with the unit.
        low: value at its start.
        high: value at its end.
        ticks: values to mark, within.
        warp: what it is linear in.
        form: how a tick reads.
    """

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]
    warp: Callable[[float], float] = float
    form: Callable[[float], str] = number

    def share(self, value: float) -> float:
        """How far along the value is: 0 at the start, 1 at the end, never beyond."""
        low, high = self.warp(self.low), self.warp(self.high)
        inside = min(max(value, self.low), self.high)
        return (self.warp(inside) - low) / (high - low)


def linear(title: str, values: Iterable[float], form: Callable[[float], str] = number) -> Axis:
    """From 0 to the first round value that none exceeds."""
    most = max(_finite(values), default=0.0)
    step, high = _nice(_shown(most) if most > 0 else 1.0)
    count = round(high / step)
    return Axis(title, 0.0, high, tuple(step * n for n in range(count + 1)), form=form)


def _nice(most: float) -> tuple[float, float]:
    """A round step of which 3 to 6 reach ``most``, and where they end."""
    decade = 10.0 ** math.floor(math.log10(most / 4))
    step = next(decade * m for m in (1, 2, 2.5, 5, 10) if most / (decade * m) <= 5)
    return step, step * math.ceil(most / step - 1e-9)


def logarithmic(title: str, values: Iterable[float]) -> Axis:
    """From the last of 1, 2, 5, 10, … below all values above 0 to the first above them."""
    found = [_shown(value) for value in _finite(values) if value > 0]
    found = found or [1.0, 10.0]
    first, last = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)))
    steps = [m * 10.0**n for n in range(first - 1, last + 1) for m in (1, 2, 5)]
    low = max(step for step in steps if step < min(found) * (1 + 1e-9))
    high = min(step for step in steps if step > max(found) * (1 - 1e-9) and step > low)
    ticks = [step for step in steps if low <= step <= high]
    if len(ticks) > 7:
        decades = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        ticks = [10.0**n for n in decades[:: 1 + len(decades) // 8]]
    return Axis(title, low, high, tuple(ticks), math.log10)


def nines(title: str, highest: float) -> Axis:
    """Quantiles from 0 to ``highest``; 0.9, 0.99 and 0.999 are equally far apart."""
    ticks = tuple(q for q in (0.5, 0.95, 0.99, 0.999) if q <= highest)
    return Axis(title, 0.0, highest, ticks, lambda q: -math.log10(1 - q), lambda q: f"p{100 * q:g}")


def _shown(value: float) -> float:
    return min(max(value, _LEAST), _MOST)


def _finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]

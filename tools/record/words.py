"""Figures of a comparison in words."""

from __future__ import annotations

from collections.abc import Callable

from tools.record.intervals import Estimate

HARDLY = 1.0
"""A relative difference; where only more than this would have shown, noise hides almost all."""


def inverse(ratio: Estimate) -> Estimate:
    """The same seen from the other side."""
    low, high = (None if end is None else 1 / end for end in (ratio.high, ratio.low))
    return Estimate(1 / ratio.value, low, high)


def lower(ratio: Estimate) -> str:
    """How much lower a ratio below 1 is: ``24% [18 to 30]``."""
    low, high = (None if end is None else 1 - end for end in (ratio.high, ratio.low))
    return _percent(Estimate(1 - ratio.value, low, high))


def higher(ratio: Estimate) -> str:
    """How much higher a ratio above 1 is: ``31% [22 to 41]``."""
    low, high = (None if end is None else end - 1 for end in (ratio.low, ratio.high))
    return _percent(Estimate(ratio.value - 1, low, high))


def _percent(share: Estimate) -> str:
    return f"{percent(share.value)}%" + ends(share, percent)


def percent(share: float) -> str:
    """Two digits; three from 90 on, where the rest of 100 is what matters."""
    return f"{100 * share:.{3 if share > 0.9 else 2}g}" if share < 10 else f"{100 * share:.0f}"


def ends(of: Estimate, write: Callable[[float], str]) -> str:
    """The interval: `` [18 to 30]``; empty where there is none."""
    if of.low is None or of.high is None:
        return ""
    return f" [{write(of.low)} to {write(of.high)}]"


def amount(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"

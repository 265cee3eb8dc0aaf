"""Figures as a reader gets them; what is not known is a dash."""

from __future__ import annotations

from benchmarks.peers.sustained import Result
from tools.record.difference import Difference
from tools.record.intervals import Estimate
from tools.record.words import ends

DASH = "–"


def number(value: float | None, digits: int = 0) -> str:
    """Rounded."""
    return DASH if value is None else f"{value:.{digits}f}"


def rate(result: Result) -> str:
    """Images/s at the service level."""
    if result.bound == "none":
        return "none"
    return _bounded(result.bound, _interval(result.images_per_s, 0))


def ratio(difference: Difference) -> str:
    """One over another."""
    return _bounded(difference.bound, _interval(difference.ratio, 2))


def _interval(estimate: Estimate | None, digits: int) -> str:
    if estimate is None:
        return DASH
    return number(estimate.value, digits) + ends(estimate, lambda end: number(end, digits))


def _bounded(bound: str | None, text: str) -> str:
    return f"{bound} {text}" if bound else text

"""How figures read: three digits, and a dash for what is not known."""

from __future__ import annotations

import math

UNKNOWN = "–"


def number(value: float | None) -> str:
    """Three digits that count, without an exponent up to a million."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(digits, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float | None) -> str:
    """A share of 1 as a percentage."""
    return UNKNOWN if share is None or not math.isfinite(share) else f"{number(100 * share)}%"


def counted(count: int, noun: str) -> str:
    """``1 round``, ``3 rounds``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortened(text: str, length: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"

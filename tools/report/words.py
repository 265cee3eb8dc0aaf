"""How figures read: three digits, and a dash for what is not known."""

from __future__ import annotations

import math

from tools.record.words import amount

UNKNOWN = "–"


def number(value: float | None) -> str:
    """As the verdict writes figures, with a dash for what is none."""
    return UNKNOWN if value is None or not math.isfinite(value) else amount(value)


def percent(share: float | None) -> str:
    """A share of 1 as a percentage."""
    return UNKNOWN if share is None or not math.isfinite(share) else f"{number(100 * share)}%"


def counted(count: int, noun: str) -> str:
    """``1 round``, ``3 rounds``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortened(text: str, length: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"

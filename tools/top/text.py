"""Text for a terminal: what it may show, how wide it is there, and numbers in few digits."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from tools.terminal import printable


class Style(Enum):
    """What a piece of text is; how it looks is the screen's business."""

    PLAIN = "plain"
    STRONG = "strong"
    DIM = "dim"
    QUEUE = "queue"
    COMPUTE = "compute"
    WARNING = "warning"


class Span(NamedTuple):
    """A piece of one line."""

    text: str
    style: Style = Style.PLAIN


Line = tuple[Span, ...]


@dataclass(frozen=True)
class Glyphs:
    """What is drawn with.

    Attributes:
        full: a cell of a bar.
        queue: a cell of a bar that stands for waiting; it differs by shape, not colour alone.
        levels: from nearly nothing to all.
        at_least: in front of a lower bound.
        branch: in front of a stage of an ensemble.
        more: where text was cut.
        encoding: whose letters can be shown.
    """

    full: str = "█"
    queue: str = "░"
    levels: str = "▁▂▃▄▅▆▇█"
    at_least: str = "≥"
    branch: str = "└ "
    more: str = "…"
    encoding: str = "utf-8"


UNICODE = Glyphs()
ASCII = Glyphs("#", ".", ":", ">=", "- ", "~", "ascii")


def glyphs_for(encoding: str | None) -> Glyphs:
    """For a terminal or a file of this encoding; None is a text that is not encoded."""
    return UNICODE if encoding is None or "utf" in encoding.lower() else ASCII


def clean(text: str, glyphs: Glyphs) -> str:
    """Somebody else's text as the terminal may get it."""
    return printable(text, glyphs.encoding)


def cells(text: str) -> int:
    """How wide a terminal shows it."""
    return sum(map(_cells_of, text))


def _cells_of(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int, more: str = "") -> str:
    """At most ``width`` cells of it; ``more`` ends what was cut, where there is room."""
    if cells(text) <= width:
        return text
    more = more if cells(more) <= width else ""
    left, kept = width - cells(more), ""
    for letter in text:
        left -= _cells_of(letter)
        if left < 0:
            break
        kept += letter
    return kept + more


def left(text: str, width: int, glyphs: Glyphs) -> str:
    """Exactly ``width`` cells, from the left."""
    text = cut(text, width, glyphs.more)
    return text + " " * (width - cells(text))


def number(value: float | None) -> str:
    """Two or three digits; a dash is not known."""
    if value is None:
        return "-"
    if 0 < value < 0.005:
        return "<0.01"
    if value >= 99_999.5:
        return f"{value / 1e3:.0f}k"
    return f"{value:.{0 if value >= 99.95 or value == 0 else 1 if value >= 9.995 else 2}f}"


def percent(share: float | None) -> str:
    """Whole ones; a dash is not known."""
    if share is None:
        return "-"
    return "<1%" if 0 < share < 0.005 else f"{100 * share:.0f}%"

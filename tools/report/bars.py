"""Charts of bars: in pieces, one below the other, and small histograms in rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree.ElementTree import Element

from tools.report.axes import Axis, linear
from tools.report.drawing import WIDTH, Frame, chart, path, short, text
from tools.report.markup import node
from tools.report.words import number, percent, shortened

_ROW = 17.0
_LEFT, _RIGHT = 104.0, WIDTH - 46.0
_CELL, _GAP, _NAMES = 64.0, 12.0, 72.0
_LETTER = 6.2


@dataclass(frozen=True)
class Row:
    """One bar.

    Attributes:
        group: heading above; rows of one group follow each other.
        name: at its left.
        parts: name of a piece to its length; the place of a piece chooses its pattern.
    """

    group: str
    name: str
    parts: Mapping[str, float]


def stacked(label: str, axis: Axis, rows: Sequence[Row]) -> Element:
    """Bars in pieces, with the sum at the end of each."""
    drawn: list[Element] = []
    y, group = 8.0, None
    for row in rows:
        if row.group != group:
            drawn.append(text(0, y + 9, shortened(row.group, 48), class_="group"))
            y, group = y + 15.0, row.group
        drawn += _bar(row, axis, y)
        y += _ROW
    return chart(label, y + 40, _scale(axis, y + 2), drawn)


def _across(axis: Axis, value: float) -> float:
    return _LEFT + axis.share(value) * (_RIGHT - _LEFT)


def _bar(row: Row, axis: Axis, y: float) -> Iterator[Element]:
    yield text(_LEFT - 6, y + 11, short(row.name), anchor="end")
    passed = 0.0
    for place, (name, length) in enumerate(row.parts.items()):
        x, passed = _across(axis, passed), passed + length
        width = _across(axis, passed) - x
        if width >= 0.1:
            title = node("title", f"{row.group}, {row.name}: {name} {number(length)}")
            kind, height = f"part p{place}", _ROW - 4
            yield node("rect", title, class_=kind, x=x, y=y, width=width, height=height)
    yield text(_across(axis, passed) + 4, y + 11, number(passed), class_="value")


def _scale(axis: Axis, y: float) -> Iterator[Element]:
    for tick in axis.ticks:
        x = _across(axis, tick)
        yield node("line", class_="grid", x1=x, x2=x, y1=6.0, y2=y)
        yield text(x, y + 14, axis.form(tick), anchor="middle")
    yield text((_LEFT + _RIGHT) / 2, y + 32, axis.title, anchor="middle", class_="title")


@dataclass(frozen=True)
class Histogram:
    """One of the small ones.

    Attributes:
        counts: of each bin; None: not known.
        note: above it.
    """

    counts: Sequence[int] | None
    note: str


@dataclass(frozen=True)
class Grid:
    """Small histograms over the same bins, each as high as its own highest bar.

    Attributes:
        label: what is shown, for those who can't see it.
        columns: their names.
        rows: name to a histogram for each column.
        bins: their names.
        title: of the bins.
    """

    label: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[Histogram]]
    bins: Sequence[str]
    title: str


def grid(of: Grid) -> Element:
    """The histograms, with the bins' names below the last row."""
    width = (WIDTH - _NAMES) / max(len(of.columns), 1)
    places = [_NAMES + width * n for n in range(len(of.columns))]
    bottom = 16.0 + _CELL * len(of.rows)
    heads = [
        text(x, 11, shortened(name, int(width / _LETTER) - 1), class_="group")
        for x, name in zip(places, of.columns, strict=True)
    ]
    cells = [
        (text(0, y, shortened(name, 11)), _cells(row, of.bins, places, width - _GAP, y))
        for y, (name, row) in zip(_downwards(len(of.rows)), of.rows.items(), strict=True)
    ]
    feet = [_bin_names(of.bins, x, width - _GAP, bottom + 13) for x in places]
    title = text((_NAMES + WIDTH) / 2, bottom + 29, of.title, anchor="middle", class_="title")
    return chart(of.label, bottom + 35, heads, cells, feet, title)


def _downwards(rows: int) -> Iterator[float]:
    return (16.0 + _CELL * (n + 1) for n in range(rows))


def _cells(
    row: Sequence[Histogram], bins: Sequence[str], places: Sequence[float], width: float, y: float
) -> Iterator[Element]:
    """One row, standing on ``y``."""
    for x, one in zip(places, row, strict=True):
        yield text(x, y - _CELL + 20, one.note, class_="note")
        yield node("line", class_="axis", x1=x, x2=x + width, y1=y, y2=y)
        counts = [max(count, 0) for count in one.counts or ()]
        total, most = sum(counts), max(counts, default=0)
        step = width / max(len(bins), 1)
        for n, count in enumerate(counts):
            if count:
                height = max(1.0, (_CELL - 26) * count / most)
                words = node("title", f"{bins[n]}: {count:,} ({percent(count / total)})")
                left, wide = x + n * step + step * 0.1, step * 0.8
                at = {"x": left, "y": y - height, "width": wide, "height": height}
                yield node("rect", words, class_="bar", **at)


def _bin_names(bins: Sequence[str], x: float, width: float, y: float) -> Iterator[Element]:
    """As many as there is room for."""
    step = width / max(len(bins), 1)
    longest = max(map(len, bins), default=1)
    every = max(1, -int(-(longest + 1) * _LETTER // step))
    for n in range(0, len(bins), every):
        yield text(x + (n + 0.5) * step, y, bins[n], anchor="middle")


@dataclass(frozen=True)
class Columns:
    """One histogram, and what was to be expected.

    Attributes:
        label: what is shown, for those who can't see it.
        x: across; its unit is that of ``edges``.
        edges: of the bins, ascending.
        shares: of each bin.
        expected: of each bin, drawn as a line.
    """

    label: str
    x: Axis
    edges: Sequence[float]
    shares: Sequence[float]
    expected: Sequence[float]


def columns(of: Columns) -> Element:
    """The chart; its height is the share of all."""
    most = max(*of.shares, *of.expected, 0.01)
    frame = Frame(of.x, linear("share of all", [most], percent), height=200)
    middles = [(low * high) ** 0.5 for low, high in pairwise(of.edges)]
    curve = [
        (frame.across(middle), frame.up(share))
        for middle, share in zip(middles, of.expected, strict=True)
    ]
    line = node("path", class_="expected", d=path(curve))
    return chart(of.label, frame.height, frame.axes(), _columns(of, frame), line)


def _columns(of: Columns, frame: Frame) -> Iterator[Element]:
    for low, high, share in zip(of.edges, of.edges[1:], of.shares, strict=False):
        if share:
            left, right, top = frame.across(low), frame.across(high), frame.up(share)
            words = node("title", f"{number(low)} to {number(high)}: {percent(share)}")
            at = {"x": left + 0.5, "y": top, "width": max(right - left - 1, 0.5)}
            yield node("rect", words, class_="bar", height=frame.bottom - top, **at)

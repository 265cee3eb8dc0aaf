"""Series over two axes, with intervals, a limit, and names at their ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from tools.report.axes import Axis
from tools.report.drawing import WIDTH, Frame, apart, chart, marker, path, short, style, text
from tools.report.markup import node
from tools.report.words import number

MOST_NAMED = 6
"""Series that are named within a chart; more than these the legend alone names."""
LETTER = 6.1
"""Width of a letter at most, on average, in the units of the chart."""

_WIDE, _HIGH = 22.0, 12.0
"""Room for the name of a point."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Point:
    """One point of a series.

    Attributes:
        x: across.
        y: up.
        words: in full, for a pointer that rests on it.
        name: beside it, where there is room.
        x_interval: where ``x`` may as well be.
        y_interval: the same of ``y``.
        is_hollow: whether to doubt it at sight.
    """

    x: float
    y: float
    words: str = ""
    name: str = ""
    x_interval: Interval | None = None
    y_interval: Interval | None = None
    is_hollow: bool = False


@dataclass(frozen=True)
class Series:
    """A line.

    Attributes:
        name: of what was measured.
        place: its number, which chooses colour, dashes and marker.
        points: from its beginning.
    """

    name: str
    place: int
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Lines:
    """Series over two axes.

    Attributes:
        label: what is shown, for those who can't see it.
        x: across.
        y: up.
        series: in the order of the legend.
        slo: of ``y``, drawn across; None: none was named.
        marked: whether each point has its marker.
    """

    label: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    slo: float | None = None
    marked: bool = True


def lines(of: Lines) -> Element:
    """The chart."""
    named = [one for one in of.series if one.points] if len(of.series) <= MOST_NAMED else []
    names = [_slo_name(of), *(short(one.name) for one in named)]
    frame = Frame(of.x, of.y, right=WIDTH - 18.0 - LETTER * max(map(len, names)))
    drawn = [_one_series(one, frame) for one in of.series]
    marks = [_markers(one, frame) for one in of.series] if of.marked else None
    labels = _point_names(named, frame), _names(of, named, frame)
    parts = (frame.axes(), _limit(of, frame), drawn, labels, marks, _nothing(of, frame))
    return chart(of.label, frame.height, *parts)


def _nothing(of: Lines, frame: Frame) -> Element | None:
    """Said in an empty chart."""
    if any(one.points for one in of.series):
        return None
    middle = (frame.left + frame.right) / 2
    return text(middle, frame.height / 2, "too few answers", anchor="middle", class_="note")


def _one_series(one: Series, frame: Frame) -> Iterator[Element]:
    for point in one.points:
        yield from _bars(one, point, frame)
    if len(one.points) > 1:
        places = [(frame.across(point.x), frame.up(point.y)) for point in one.points]
        yield node("path", **style(one.place), d=path(places))


def _markers(one: Series, frame: Frame) -> Iterator[Element]:
    for point in one.points:
        place = frame.across(point.x), frame.up(point.y)
        yield marker(one.place, *place, point.words, point.is_hollow)


def _point_names(several: Sequence[Series], frame: Frame) -> Iterator[Element]:
    """Below each point, where no other's is."""
    taken: list[Interval] = []
    for point in (point for one in several for point in one.points if point.name):
        x, y = frame.across(point.x) + 6, frame.up(point.y) + 12
        if all(abs(x - left) > _WIDE or abs(y - base) > _HIGH for left, base in taken):
            taken.append((x, y))
            yield text(x, y, point.name, class_="note")


def _bars(one: Series, point: Point, frame: Frame) -> Iterator[Element]:
    """Error bars."""
    kind = f"interval {style(one.place)['class_']}"
    x, y = frame.across(point.x), frame.up(point.y)
    if point.x_interval is not None:
        low, high = map(frame.across, point.x_interval)
        yield node("path", class_=kind, d=f"M{low:.1f} {y:.1f}H{high:.1f}")
    if point.y_interval is not None:
        low, high = map(frame.up, point.y_interval)
        yield node("path", class_=kind, d=f"M{x:.1f} {low:.1f}V{high:.1f}")


def _limit(of: Lines, frame: Frame) -> Iterator[Element]:
    if of.slo is not None:
        y = frame.up(of.slo)
        yield node("line", class_="limit", x1=frame.left, x2=frame.right + 4, y1=y, y2=y)


def _slo_name(of: Lines) -> str:
    return "" if of.slo is None else f"SLO {number(of.slo)}"


def _names(of: Lines, named: Sequence[Series], frame: Frame) -> Iterator[Element]:
    """Beside the chart: of the limit, and of each series at the height where it ends."""
    ends = [(one.points[-1], short(one.name)) for one in named]
    if of.slo is not None:
        ends.append((Point(of.x.high, of.slo), _slo_name(of)))
    heights = [frame.up(point.y) for point, _ in ends]
    free = apart(heights, 13, frame.top, frame.bottom)
    for (point, name), height, y in zip(ends, heights, free, strict=True):
        x = frame.across(point.x)
        if x < frame.right - 1 or abs(y - height) > 1:
            yield node("path", class_="leader", d=path([(x, height), (frame.right + 5, y)]))
        yield text(frame.right + 8, y + 4, name, class_="group")

"""The parts of a chart: frame, axes, markers, labels that don't lie on each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from tools.report.axes import Axis
from tools.report.markup import Child, node
from tools.report.words import shortened

WIDTH = 380
"""Of every chart, in its own units: what a phone shows without scaling."""
COLOURS, DASHES = 6, ("", "7 3", "2 2.5", "9 3 2 3", "4 2")
_PATHS = (
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0Z",
    "M-3.2-3.2H3.2V3.2H-3.2Z",
    "M0-4.6L4.2 3H-4.2Z",
    "M0-4.8L4.4 0L0 4.8L-4.4 0Z",
    "M0 4.6L4.2-3H-4.2Z",
    "M-1.4-4.2H1.4V-1.4H4.2V1.4H1.4V4.2H-1.4V1.4H-4.2V-1.4H-1.4Z",
    "M-4.4-2.6H4.4V2.6H-4.4Z",
)
"""Circle, square, triangle, diamond, triangle on its head, cross, bar."""


@dataclass(frozen=True)
class Frame:
    """Where the axes lie.

    Attributes:
        x: left to right.
        y: bottom to top.
        height: of the whole chart.
        left: of the vertical axis; its ticks' texts are left of it.
        right: end of the horizontal axis.
    """

    x: Axis
    y: Axis
    height: int = 270
    left: float = 44.0
    right: float = WIDTH - 18.0
    top: float = 26.0

    @property
    def bottom(self) -> float:
        """Of the vertical axis."""
        return self.height - 38.0

    def across(self, value: float) -> float:
        """Where a value of ``x`` is."""
        return self.left + self.x.share(value) * (self.right - self.left)

    def up(self, value: float) -> float:
        """Where a value of ``y`` is."""
        return self.bottom - self.y.share(value) * (self.bottom - self.top)

    def axes(self) -> Iterator[Element]:
        """Grid, ticks and titles."""
        for tick in self.y.ticks:
            y = self.up(tick)
            yield node("line", class_="grid", x1=self.left, x2=self.right, y1=y, y2=y)
            yield text(self.left - 5, y + 4, self.y.form(tick), anchor="end")
        for tick in self.x.ticks:
            x = self.across(tick)
            yield node("line", class_="grid", x1=x, x2=x, y1=self.top, y2=self.bottom)
            yield text(x, self.bottom + 15, self.x.form(tick), anchor="middle")
        middle = (self.left + self.right) / 2
        yield text(middle, self.height - 6, self.x.title, anchor="middle", class_="title")
        yield text(2, 12, self.y.title, class_="title")


def chart(label: str, height: float, *children: Child) -> Element:
    """A drawing with a name for those who can't see it."""
    box = f"0 0 {WIDTH} {height:g}"
    return node("svg", children, viewBox=box, role="img", aria_label=label, class_="chart")


def text(x: float, y: float, words: str, anchor: str = "start", class_: str = "") -> Element:
    """A text at a place."""
    return node("text", words, x=x, y=y, text_anchor=anchor, class_=class_ or None)


def style(place: int) -> dict[str, object]:
    """Colour and dashes of the series with this number; no two below 30 share both."""
    return {"class_": f"series c{place % COLOURS}", "stroke_dasharray": _dash(place)}


def _dash(place: int) -> str | None:
    return DASHES[place % len(DASHES)] or None


def marker(place: int, x: float, y: float, words: str, is_hollow: bool = False) -> Element:
    """A point of the series with this number; ``words`` are shown where a pointer rests."""
    return node(
        "path",
        node("title", words),
        class_=f"mark c{place % COLOURS}{' hollow' if is_hollow else ''}",
        d=_PATHS[place % len(_PATHS)],
        transform=f"translate({x:.1f} {y:.1f})",
    )


def swatch(place: int) -> Element:
    """A piece of line with its marker, for a legend."""
    line = node("line", **style(place), x1=0, x2=30, y1=7, y2=7)
    shape = node(
        "path",
        class_=f"mark c{place % COLOURS}",
        d=_PATHS[place % len(_PATHS)],
        transform="translate(15 7)",
    )
    return node("svg", line, shape, class_="swatch", viewBox="0 0 30 14", aria_hidden="true")


def piece(place: int) -> Element:
    """A piece of a bar, for a legend."""
    bar = node("rect", class_=f"part p{place}", x=0.5, y=1.5, width=29, height=11)
    return node("svg", bar, class_="swatch", viewBox="0 0 30 14", aria_hidden="true")


def path(points: Iterable[tuple[float, float]]) -> str:
    """Straight from point to point."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places, moved as little as needed to be ``gap`` apart between ``low`` and ``high``.

    Source: least squares under an order, by pooling adjacent violators.
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    pools: list[tuple[float, int]] = []
    for rank, one in enumerate(order):
        pools.append((places[one] - rank * gap, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (after, n), (before, m) = pools.pop(), pools.pop()
            pools.append(((before * m + after * n) / (m + n), m + n))
    starts = [start for start, count in pools for _ in range(count)]
    highest = max(low, high - (len(places) - 1) * gap)
    moved = list(places)
    for rank, one in enumerate(order):
        moved[one] = min(max(starts[rank], low), highest) + rank * gap
    return moved


def short(name: str) -> str:
    """A name for a label within a chart."""
    return shortened(name, 16)

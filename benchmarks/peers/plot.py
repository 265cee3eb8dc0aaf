"""Throughput against p95 of every server, as a picture of its own that pages can show."""

from __future__ import annotations

from xml.etree.ElementTree import tostring

from benchmarks.peers.sustained import Json, cells_of, middle
from tools.report.axes import linear, logarithmic
from tools.report.lines import Lines, Point, Series, lines
from tools.report.look import STYLE
from tools.report.markup import node

SVG = "http://www.w3.org/2000/svg"
ALONE = """
:root { --paper: #fff; --ink: #1b1d20; --soft: #565c63; --line: #8885 }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #15181b; --ink: #e7e9ec; --soft: #a9b0b8 }
}
svg { font-family: system-ui, sans-serif; background: var(--paper) }
"""
"""What a page would give the chart."""


def svg(record: Json, photographs: Json) -> str:
    """The chart of one set of photographs; each point is so many callers, median of the rounds."""
    series = [
        Series(record["peers"][name]["title"], place, _points(record, photographs, name))
        for place, name in enumerate(record["peers"])
        if cells_of(record, photographs["name"], name)
    ]
    points = [point for one in series for point in one.points]
    label = f"Images/s against p95 latency, photographs of {photographs['name']}"
    x = linear("images/s", (point.x for point in points))
    y = logarithmic("p95, ms", (*(point.y for point in points), photographs["slo_p95_ms"]))
    picture = lines(Lines(label, x, y, series, photographs["slo_p95_ms"]))
    picture.set("xmlns", SVG)
    picture.insert(0, node("style", ALONE + STYLE))
    return tostring(picture, encoding="unicode") + "\n"


def _points(record: Json, photographs: Json, name: str) -> tuple[Point, ...]:
    cells = cells_of(record, photographs["name"], name)
    found = []
    for callers in photographs["callers"]:
        mine = [cell for cell in cells if cell["callers"] == callers]
        rate = middle(cell["images_per_s"] for cell in mine)
        p95_ms = middle(cell["p95_ms"] for cell in mine)
        if rate is not None and p95_ms is not None:
            found.append(Point(rate, p95_ms, f"{callers} callers", str(callers)))
    return tuple(found)

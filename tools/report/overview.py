"""What a reader wants first: the verdict, and throughput against p95."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from tools.record.summary import Summary
from tools.report.axes import Axis, linear, logarithmic
from tools.report.blocks import figure, list_of
from tools.report.lines import Lines, Point, Series, lines
from tools.report.markup import Child, node
from tools.report.sheet import (
    Curve,
    Sheet,
    amount,
    estimated,
    interval_of,
    of_target,
    places,
    value_of,
)

READING = (
    "Each point is a load, each line a target: further right is more, further down is sooner. "
    "Bars are 95% intervals over rounds. Latency is on a logarithmic axis."
)
OPEN_LOOP = "In an open loop latency counts from when a request was due, however late it was sent."


def verdicts(sheets: Sequence[Sheet]) -> Iterator[Element]:
    """A sentence for each record, and what one has to know to trust them."""
    several = len(sheets) > 1
    notes: dict[str, list[str]] = {}
    for n, one in enumerate(sheets):
        said: list[Child] = [node("a", one.name, href=f"#r{n}"), ": "] if several else []
        yield node("p", said, one.verdict.sentence, class_="verdict")
        for note in one.verdict.notes:
            notes.setdefault(note, []).append(one.name)
    if notes:
        yield list_of(
            f"{', '.join(names)}: {note}" if several else note for note, names in notes.items()
        )


def apart(sheets: Sequence[Sheet]) -> str | None:
    """Why records can't be compared with each other; None: nothing is known against it."""
    machines = list(dict.fromkeys(one.machine for one in sheets))
    if len(machines) < 2:
        return None
    return (
        f"These records come from {len(machines)} machines ({'; '.join(machines)}): compare "
        "targets within a record, not records with each other."
    )


def reading(sheets: Sequence[Sheet]) -> Iterator[Element]:
    """How to read the curves."""
    yield node("p", READING, class_="soft")
    if any(curve.kind == "open" for one in sheets for curve in one.curves):
        yield node("p", OPEN_LOOP, class_="soft")


def curves(sheets: Sequence[Sheet]) -> list[Element]:
    """Throughput against p95, a chart for each curve, on the same axes in all records."""
    numbers = places(sheets)
    found = [
        (one, curve, _series(summaries, numbers))
        for one in sheets
        for curve, summaries in one.curves.items()
    ]
    axes = _axes(sheets, [series for _, _, several in found for series in several])
    return [
        _curve(f"{one.name}: " if len(sheets) > 1 else "", one, curve, series, axes)
        for one, curve, series in found
    ]


def _curve(
    name: str, one: Sheet, curve: Curve, series: Sequence[Series], axes: tuple[Axis, Axis]
) -> Element:
    title = name + curve.title
    said = " ".join(f"{point.words}." for each in series for point in each.points)
    label = f"Throughput against p95 latency. {title}. {said}"
    return figure(title, lines(Lines(label, *axes, series, one.record.slo_p95_ms)))


def _series(summaries: Sequence[Summary], numbers: Mapping[str, int]) -> list[Series]:
    found = []
    for target in dict.fromkeys(one.target for one in summaries):
        points = tuple(filter(None, map(_point, of_target(summaries, target))))
        found.append(Series(target, numbers.get(target, len(numbers)), points))
    return found


def _point(one: Summary) -> Point | None:
    x, y = value_of(one.throughput_per_s), value_of(one.p95_ms)
    if x is None or y is None:
        return None
    words = (
        f"{one.target}, {amount(one.load)}: {estimated(one.throughput_per_s)} answers/s, "
        f"p95 {estimated(one.p95_ms)} ms"
    )
    ends = interval_of(one.throughput_per_s), interval_of(one.p95_ms)
    return Point(x, y, words, f"{one.load.value:g}", *ends)


def _axes(sheets: Sequence[Sheet], series: Iterable[Series]) -> tuple[Axis, Axis]:
    points = [point for one in series for point in one.points]
    across = [value for point in points for value in (point.x, *(point.x_interval or ()))]
    up = [value for point in points for value in (point.y, *(point.y_interval or ()))]
    up += [one.record.slo_p95_ms for one in sheets if one.record.slo_p95_ms is not None]
    return linear("answers a second", across), logarithmic("p95 latency, ms", up)

"""What a reader wants first: the verdict, and throughput against p95."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from tools.record.record import Kind
from tools.record.summary import Summary
from tools.report.axes import Axis, linear, logarithmic
from tools.report.blocks import figure, list_of
from tools.report.lines import Lines, Point, Series, lines
from tools.report.markup import Child, node
from tools.report.sheet import (
    Sheet,
    amount,
    estimated,
    interval_of,
    of_target,
    places,
    value_of,
)
from tools.report.words import counted, number, percent

READING = (
    "Each point is a load, each line a target: further right is more, further down is sooner. "
    "The number beside a point is its load: callers, or requests a second. "
    "Bars are 95% intervals over rounds. Latency is on a logarithmic axis."
)
HOLLOW = (
    "A hollow point flatters: more than one request in twenty failed there, and p95 is that of the "
    "others. The verdict counts a failed request as infinitely late."
)
_TWENTIETH = 0.05
OPEN_LOOP = "In an open loop latency counts from when a request was due, however late it was sent."


def verdicts(sheets: Sequence[Sheet]) -> Iterator[Element]:
    """The sentences of each record, and what one has to know to trust them."""
    several = len(sheets) > 1
    notes: dict[str, list[str]] = {}
    for n, one in enumerate(sheets):
        for said in one.verdict.sentences:
            name: list[Child] = [node("a", one.name, href=f"#r{n}"), ": "] if several else []
            yield node("p", name, said, class_="verdict")
        for note in one.verdict.notes:
            notes.setdefault(note, []).append(one.name)
    if notes:
        yield list_of(
            f"{', '.join(names)}: {note}" if several else note for note, names in notes.items()
        )


def apart(sheets: Sequence[Sheet]) -> str | None:
    """Why records can't be compared with each other; None: nothing is known against it."""
    said: dict[str, dict[str, None]] = {}
    for one in sheets:
        for name, value in _conditions(one).items():
            said.setdefault(name, {})[value] = None
    differing = [f"{name} ({'; '.join(found)})" for name, found in said.items() if len(found) > 1]
    if not differing:
        return None
    return (
        f"These records differ in {', and in '.join(differing)}: compare targets within a record, "
        "not records with each other."
    )


def _conditions(one: Sheet) -> dict[str, str]:
    """What has to be the same where records are compared."""
    slo_ms = one.record.slo_p95_ms
    return {
        "machine": one.machine,
        "SLO": "none" if slo_ms is None else f"{number(slo_ms)} ms",
        "engine": one.record.engine,
        "requests": ", ".join(_sent(kind) for kind in one.record.mix),
    }


def _sent(of: Kind) -> str:
    images = f"{of.images} {number(of.median_bytes / 1e3)} kB".strip()
    return f"{percent(of.share)} {of.name} of {counted(of.rows, 'image')}, {images}"


def reading(sheets: Sequence[Sheet]) -> Iterator[Element]:
    """How to read the curves."""
    yield node("p", READING, class_="soft")
    if any(curve.kind == "open" for one in sheets for curve in one.curves):
        yield node("p", OPEN_LOOP, class_="soft")
    if any(_failed(each) > _TWENTIETH for one in sheets for each in one.summaries):
        yield node("p", HOLLOW, class_="alert")


def curves(sheets: Sequence[Sheet]) -> list[Element]:
    """Throughput against p95, a chart for each curve, on the same axes in all records."""
    numbers = places(sheets)
    found = [
        (one, curve, _series(summaries, numbers), _not_drawn(summaries))
        for one in sheets
        for curve, summaries in one.curves.items()
    ]
    axes = _axes(sheets, [series for _, _, several, _ in found for series in several])
    return [
        figure(
            title := (f"{one.name}: " if len(sheets) > 1 else "") + curve.title,
            lines(Lines(_label(title, series), *axes, series, one.record.slo_p95_ms)),
            missing,
        )
        for one, curve, series, missing in found
    ]


def _label(title: str, series: Sequence[Series]) -> str:
    said = " ".join(f"{point.words}." for each in series for point in each.points)
    return f"Throughput against p95 latency. {title}. {said}"


def _not_drawn(summaries: Sequence[Summary]) -> Element | None:
    """A line with a gap in it, or without its end, looks better than it is."""
    missing = [f"{one.target} at {amount(one.load)}" for one in summaries if _point(one) is None]
    if not missing:
        return None
    return node("p", f"Not drawn for want of answers: {'; '.join(missing)}.", class_="soft")


def _failed(one: Summary) -> float:
    """Share of the requests."""
    return 1 - one.served / one.requests if one.requests else 0.0


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
    failed = _failed(one)
    words += f" of those answered, {percent(failed)} failed" if failed else ""
    ends = interval_of(one.throughput_per_s), interval_of(one.p95_ms)
    return Point(x, y, words, f"{one.load.value:g}", *ends, is_hollow=failed > _TWENTIETH)


def _axes(sheets: Sequence[Sheet], series: Iterable[Series]) -> tuple[Axis, Axis]:
    points = [point for one in series for point in one.points]
    across = [value for point in points for value in (point.x, *(point.x_interval or ()))]
    up = [value for point in points for value in (point.y, *(point.y_interval or ()))]
    up += [one.record.slo_p95_ms for one in sheets if one.record.slo_p95_ms is not None]
    return linear("answers a second", across), logarithmic("p95 latency, ms", up)

"""The whole page: what matters first, then each record in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from tools.report import detail, overview, provenance, tables
from tools.report.blocks import figures, legend, table
from tools.report.look import STYLE, patterns
from tools.report.markup import html, node
from tools.report.page import page
from tools.report.sheet import Sheet, places
from tools.report.words import counted, number

_QUANTILES = (
    "From the fastest answer to the slowest: half took less than at p50, one in twenty more than "
    "at p95, one in a thousand more than at p99.9. Failed requests are not among them."
)
_STAGES = "Of one request in each stage, as the server counts it. Each chart has its own scale."
_BATCHES = "Executions by batch size, each chart as high as its highest bar."
_ARRIVALS = "When requests were due. The dashed line is what Poisson arrivals of that rate give."
_CONFIGURATIONS = "As the servers said them."


class Chapter(NamedTuple):
    """One part of a record.

    Attributes:
        title: of it.
        reading: how to read it; empty: it speaks for itself.
        content: of it.
    """

    title: str
    reading: str
    content: Iterable[Element]


def webpage(sheets: Sequence[Sheet]) -> Iterator[str]:
    """Pieces of one HTML file."""
    title = "Batching measured: " + ", ".join(one.name for one in sheets)
    body = [patterns(), *_first(sheets)]
    for n, one in enumerate(sheets):
        body += _record(one, places(sheets), n if len(sheets) > 1 else None)
    yield from page(title, STYLE, map(html, body))


def _first(sheets: Sequence[Sheet]) -> Iterator[Element]:
    yield node("header", _head(sheets))
    yield node("h2", "Throughput against p95 latency")
    curves = overview.curves(sheets)
    words = node("div", legend(places(sheets)), overview.reading(sheets))
    if len(curves) == 1:
        yield node("div", figures(curves), words, class_="beside")
    else:
        yield words
        yield figures(curves)
    yield node("h2", "At equal SLO")
    yield table(tables.at_equal_slo(sheets))


def _head(sheets: Sequence[Sheet]) -> Iterator[Element]:
    yield node("p", "Tandem report", class_="kicker")
    yield node("h1", _title(sheets))
    yield from overview.verdicts(sheets)
    warning = overview.apart(sheets)
    if warning is not None:
        yield node("p", warning, class_="alert")
    if len(sheets) == 1:
        yield node("p", _facts(sheets[0]), class_="soft")


def _title(sheets: Sequence[Sheet]) -> str:
    if len(sheets) > 1:
        return f"{len(sheets)} records side by side"
    names = [target.name for target in sheets[0].record.targets]
    if len(names) < 2:
        return names[0] if names else sheets[0].name
    return f"{names[0]} against " + (names[1] if len(names) == 2 else f"{len(names) - 1} others")


def _facts(one: Sheet) -> str:
    record = one.record
    parts = [
        record.created,
        one.machine,
        counted(len({cell.round for cell in record.cells}), "round"),
        "no SLO" if record.slo_p95_ms is None else f"SLO p95 {number(record.slo_p95_ms)} ms",
        f"engine {record.engine}",
        counted(sum(len(cell.samples) for cell in record.cells), "request"),
    ]
    return " · ".join(parts)


def _record(one: Sheet, numbers: Mapping[str, int], place: int | None) -> Iterator[Element]:
    if place is not None:
        yield node("h2", one.name, class_="record", id=f"r{place}")
        yield node("p", _facts(one), class_="soft")
    heading = "h2" if place is None else "h3"
    for chapter in _chapters(one, numbers):
        yield node(heading, chapter.title)
        if chapter.reading:
            yield node("p", chapter.reading, class_="soft")
        yield from chapter.content


def _chapters(one: Sheet, numbers: Mapping[str, int]) -> Iterator[Chapter]:
    yield Chapter("Answers", "", map(table, tables.answers(one)))
    yield Chapter("At equal load", "", [table(tables.at_equal_load(one))])
    yield Chapter("Latency", _QUANTILES, detail.latencies(one, numbers))
    yield Chapter("Where the time goes", _STAGES, detail.stages(one))
    yield Chapter("Batches", _BATCHES, detail.batches(one))
    yield Chapter("Arrivals", _ARRIVALS, detail.arrivals(one))
    yield Chapter("Failures", "", [table(tables.failures(one))])
    yield Chapter("Requests", "", map(table, (tables.mix(one), tables.kinds(one))))
    yield Chapter("Resources", "", [table(tables.resources(one))])
    yield Chapter("Warm-up", "", [table(tables.warm_up(one))])
    yield Chapter("What was not used", "", [table(tables.unused(one))])
    yield Chapter("How to repeat it", "", provenance.repeat(one))
    yield Chapter("Configurations", _CONFIGURATIONS, provenance.configurations(one))

"""The charts behind the figures: latency, time by stage, batches, arrivals."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from tools.arrivals.analysis import Gaps, analyse
from tools.arrivals.report import verdict
from tools.arrivals.stamps import Stamps
from tools.record.cells import why_unused
from tools.record.distribution import Distribution, distributions
from tools.record.record import Cell
from tools.record.summary import StageSummary, Summary
from tools.report import tables
from tools.report.axes import Axis, linear, logarithmic, nines
from tools.report.bars import Columns, Grid, Histogram, Row, columns, grid, stacked
from tools.report.blocks import figure, figures, folded, legend, pieces, table
from tools.report.lines import Lines, Point, Series, lines
from tools.report.markup import node
from tools.report.sheet import Sheet, amount, of_target
from tools.report.words import number

_BINS_PER_DECADE = 60
"""Of latencies: a step of 4%, which is the width of a line."""
_HIGHEST = 0.9995
_CLOCK_S = 1e-6
"""Of due times in a record."""
_SINGLE_SIZES = 12
PIECES = ("queue", "compute input", "compute infer", "compute output")


def latencies(one: Sheet, numbers: Mapping[str, int]) -> Iterator[Element]:
    """Quantiles of latency, a chart a load, all on the same axes."""
    found = [each for each in distributions(one.record, _BINS_PER_DECADE) if each.counts.any()]
    if not found:
        yield node("p", "Nothing was answered.")
        return
    by_load: dict[str, list[Series]] = {}
    for each in found:
        title = f"{each.load.label}, {each.protocol}"
        by_load.setdefault(title, []).append(_quantiles(each, numbers))
    points = [point for several in by_load.values() for each in several for point in each.points]
    highest = min(max(max(point.x for point in points), 0.99), _HIGHEST)
    axes = (
        nines("share of the answers within the latency", highest),
        logarithmic("latency, ms", [point.y for point in points]),
    )
    yield legend({each.target: numbers.get(each.target, len(numbers)) for each in found})
    yield figures(_latency(title, axes, series, one) for title, series in by_load.items())


def _quantiles(of: Distribution, numbers: Mapping[str, int]) -> Series:
    """The share of the answers below the end of each bin; one more, beyond all, is implied."""
    shares = of.counts.cumsum() / (of.counts.sum() + 1)
    ends = zip(shares.tolist(), of.edges_ms[1:].tolist(), of.counts.tolist(), strict=True)
    points = tuple(Point(share, edge) for share, edge, count in ends if count)
    return Series(of.target, numbers.get(of.target, len(numbers)), points)


def _latency(title: str, axes: tuple[Axis, Axis], series: Sequence[Series], one: Sheet) -> Element:
    label = f"Quantiles of latency. {title}. The figures are in the table of answers."
    return figure(title, lines(Lines(label, *axes, series, one.record.slo_p95_ms, marked=False)))


def stages(one: Sheet) -> Iterator[Element]:
    """Queue against compute, a chart a load."""
    by_load: dict[str, list[Row]] = {}
    for summary in one.summaries:
        rows = by_load.setdefault(f"{summary.load.label}, {summary.protocol}", [])
        rows += [row for stage in one.stages_of(summary) for row in _row(summary, stage)]
    drawn = [_stages(title, rows) for title, rows in by_load.items() if rows]
    if drawn:
        yield pieces(PIECES)
        yield figures(drawn)
        yield folded("Every stage in figures", table(tables.stages(one)))
    else:
        yield node("p", "The server said nothing of its stages.")


def _stages(title: str, rows: Sequence[Row]) -> Element:
    axis = linear("ms a request", [sum(row.parts.values()) for row in rows])
    said = (
        f"{row.group}, {row.name}: "
        + ", ".join(f"{name} {number(value)} ms" for name, value in row.parts.items())
        for row in rows
    )
    return figure(title, stacked(f"Time of a request by stage. {'; '.join(said)}.", axis, rows))


def _row(summary: Summary, stage: StageSummary) -> Iterator[Row]:
    times_ms = (
        stage.queue_ms,
        stage.compute_input_ms,
        stage.compute_infer_ms,
        stage.compute_output_ms,
    )
    known = {name: time for name, time in zip(PIECES, times_ms, strict=True) if time is not None}
    if len(known) == len(PIECES):
        yield Row(summary.target, stage.model, known)


def batches(one: Sheet) -> Iterator[Element]:
    """Executions by batch size, a chart a target, rows are loads, columns are stages."""
    found = [stage for each in one.summaries for stage in one.stages_of(each)]
    largest = max((size for stage in found for size in stage.sizes or ()), default=0)
    if not largest:
        yield node("p", "The server said nothing of its batches.")
        return
    yield figures(
        _batches(f"{target}: {curve.title}", of_target(summaries, target), one, largest)
        for curve, summaries in one.curves.items()
        for target in dict.fromkeys(each.target for each in summaries)
    )


def _batches(title: str, summaries: Sequence[Summary], one: Sheet, largest: int) -> Element:
    models = list(dict.fromkeys(s.model for each in summaries for s in one.stages_of(each)))
    bins = _bins(largest)
    rows = {}
    for each in summaries:
        by_model = {stage.model: stage for stage in each.stages}
        rows[amount(each.load)] = [_histogram(by_model.get(model), bins) for model in models]
    names = [f"{low}" if low == high else f"{low}–{high}" for low, high in bins]
    said = (
        f"{load}: " + ", ".join(f"{m} {h.note}" for m, h in zip(models, row, strict=True))
        for load, row in rows.items()
    )
    label = f"Executions by batch size. {title}. {'; '.join(said)}."
    return figure(title, grid(Grid(label, models, rows, names, "batch size")))


def _bins(largest: int) -> list[tuple[int, int]]:
    """Each size on its own while they are few; else twice as many in each bin."""
    if largest <= _SINGLE_SIZES:
        return [(size, size) for size in range(1, largest + 1)]
    doubled = [(2**n + 1, 2 ** (n + 1)) for n in range(1, (largest - 1).bit_length())]
    return [(1, 1), (2, 2), *doubled]


def _histogram(stage: StageSummary | None, bins: Sequence[tuple[int, int]]) -> Histogram:
    if stage is None or stage.sizes is None:
        return Histogram(None, "not known")
    counts = [
        sum(count for size, count in stage.sizes.items() if low <= size <= high)
        for low, high in bins
    ]
    return Histogram(counts, f"mean {number(stage.mean_batch)}")


def arrivals(one: Sheet) -> Iterator[Element]:
    """Times between arrivals, and what kind they are; of each open load, the first that counts."""
    cells = [cell for cell in one.record.cells if cell.load.kind == "open"]
    firsts: dict[str, Cell] = {}
    for cell in cells:
        if why_unused(cell) is None and len(set(cell.samples.due_s.tolist())) > 1:
            firsts.setdefault(cell.load.label, cell)
    if not cells:
        closed = "callers sent again when they had their answer, so nothing arrived by itself."
        yield node("p", f"No open loop was run: {closed}")
    elif not firsts:
        yield node("p", "Too few requests arrived.")
    yield figures(_arrivals(load, cell) for load, cell in firsts.items())


def _arrivals(load: str, cell: Cell) -> Element:
    stamps = Stamps(array("d", cell.samples.due_s.tolist()), _CLOCK_S, load)
    found = analyse(stamps.arrivals)
    drawn = None if found.gaps is None else _gaps(load, found.gaps)
    return figure(f"{load}, round {cell.round + 1}", drawn, node("p", verdict(found)))


def _gaps(load: str, of: Gaps) -> Element:
    edges_ms = [1e3 * edge_s for edge_s in of.edges_s]
    edges_ms = [edges_ms[0] / 2, *edges_ms, 2 * edges_ms[-1]]
    x = logarithmic("time between arrivals, ms", edges_ms)
    return columns(Columns(f"Times between arrivals. {load}.", x, edges_ms, of.shares, of.poisson))

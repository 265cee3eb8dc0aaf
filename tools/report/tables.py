"""What the tables say, whatever they are written as: answers, comparisons, failures, resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tools.record.at_slo import Sustained
from tools.record.compare import AtSlo
from tools.record.difference import Difference
from tools.record.intervals import MIN_ROUNDS, Estimate
from tools.record.summary import Answers, StageSummary, Summary
from tools.record.words import HARDLY
from tools.report.sheet import Curve, Sheet, amount, interval_words, value_of
from tools.report.words import UNKNOWN, counted, number, percent


class Figure(NamedTuple):
    """A figure, its interval, and what is to be said of it; empty where there is none."""

    value: str
    interval: str = ""
    remark: str = ""

    def __str__(self) -> str:
        value = f"{self.value} {self.interval}".strip()
        return f"{value}, {self.remark}" if self.remark else value


Cell: TypeAlias = str | Figure
_WHERE = ("target", "load")


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        caption: of it.
        head: names of the columns.
        rows: their cells; the first names its row, or several that follow each other.
        words: leading columns that are words, not figures.
        nothing: said in its place where there is no row.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: int = 1
    nothing: str = ""


def answers(one: Sheet) -> list[Table]:
    """Every target and load in figures, a table a curve."""
    head = ("target", "load", "answers/s", "p50 ms", "p95 ms", "p99 ms", "failed", "rounds")
    return [
        Table(
            f"{curve.title}; 95% intervals over rounds; {UNKNOWN}: too few answers to tell",
            head,
            [[each.target, amount(each.load), *_answers(each), str(each.rounds)] for each in found],
            words=2,
        )
        for curve, found in one.curves.items()
    ]


def _answers(of: Answers) -> list[Cell]:
    times = (of.throughput_per_s, of.p50_ms, of.p95_ms, of.p99_ms)
    failed = of.requests - of.served
    share = f"{failed} ({percent(failed / of.requests)})" if failed else "0"
    return [*map(_estimated, times), share]


def _estimated(estimate: Estimate | None) -> Figure:
    return Figure(number(value_of(estimate)), interval_words(estimate))


def at_equal_slo(sheets: Sequence[Sheet]) -> Table:
    """The most that each target gives within the SLO."""
    several = len(sheets) > 1
    head = ["target", "loads", "answers/s", "times the first target's"]
    rows = [
        [*([one.name] if several else []), *_sustained(curve, target)]
        for one in sheets
        for curve in one.verdict.at_equal_slo
        for target in curve.sustained
    ]
    head = ["record", *head] if several else head
    caption = "The most answers a second while p95 is within the SLO"
    named = any(one.record.slo_p95_ms is not None for one in sheets)
    nothing = "Nothing was measured." if named else "No SLO was named."
    return Table(caption, head, rows, len(head) - 2, nothing)


def _sustained(at: AtSlo, of: Sustained) -> list[Cell]:
    against = [one for one in at.differences if one.target == of.target]
    return [
        of.target,
        Curve(at.kind, at.arrivals, at.protocol).title,
        _bounded(of.bound, of.throughput_per_s),
        _difference(against[0] if against else None),
    ]


def _bounded(bound: str | None, estimate: Estimate | None) -> Figure:
    figure = _estimated(estimate)
    if bound is None:
        return figure
    if estimate is None:
        return Figure(UNKNOWN, remark=f"{bound} of the loads is within it")
    return figure._replace(value=f"{bound} {figure.value}")


def _difference(of: Difference | None) -> Figure:
    if of is None:
        return Figure(UNKNOWN)
    if of.ratio is None:
        return Figure(UNKNOWN, remark=of.reason or "")
    return _bounded(of.bound, of.ratio)._replace(remark=_outcome(of))


def _outcome(of: Difference) -> str:
    if of.winner is not None:
        return f"{of.winner} is better"
    if of.rounds < MIN_ROUNDS:
        return "too few rounds to tell"
    if of.detectable is None:
        return "no winner can be told" if of.bound else ""
    if of.detectable > HARDLY:
        return "can't be told; twice as much might not have shown"
    return f"no difference beyond noise; {percent(of.detectable)} would have shown"


def at_equal_load(one: Sheet) -> Table:
    """p95 and throughput of each target against the first."""
    found: dict[tuple[str, ...], dict[str, Difference]] = {}
    for each in one.verdict.at_equal_load:
        where = (each.target, _over(one, _load(each), each.protocol))
        found.setdefault(where, {})[each.quantity] = each
    rows: list[list[Cell]] = [
        [*where, *(_difference(by.get(name)) for name in ("p95_ms", "throughput_per_s"))]
        for where, by in found.items()
    ]
    first = next((target.name for target in one.record.targets), UNKNOWN)
    nothing = "There are no two targets to compare."
    title = f"Times that of {first}, paired by round"
    return Table(title, (*_WHERE, "p95", "answers/s"), rows, 2, nothing)


def _load(of: Difference) -> str:
    if of.load is not None:
        return of.load.label
    return "all callers" if of.kind == "closed" else f"all {of.arrivals}"


def failures(one: Sheet) -> Table:
    """Failures by cause."""
    rows = [
        [*_where(one, each), cause, str(count), percent(count / each.requests)]
        for each in one.summaries
        for cause, count in each.errors.items()
    ]
    head = (*_WHERE, "cause", "requests", "share")
    return Table("Counted at the client", head, rows, 3, "No request failed.")


def _where(one: Sheet, of: Summary) -> list[Cell]:
    return [of.target, _over(one, of.load.label, of.protocol)]


def _over(one: Sheet, load: str, protocol: str) -> str:
    """The load, with its protocol where there are several."""
    several = len({summary.protocol for summary in one.summaries}) > 1
    return f"{load}, {protocol}" if several else load


def mix(one: Sheet) -> Table:
    """The classes of the requests."""
    head = ("class", "share", "priority", "timeout ms", "images each", "images, median size")
    rows: list[list[Cell]] = [
        [
            kind.name,
            percent(kind.share),
            str(kind.priority) if kind.priority else "none",
            number(kind.timeout_ms) if kind.timeout_ms else "none",
            str(kind.rows),
            f"{kind.images} {number(kind.median_bytes / 1e3)} kB",
        ]
        for kind in one.record.mix
    ]
    return Table("What was sent", head, rows, nothing="The record does not say what was sent.")


def kinds(one: Sheet) -> Table:
    """What became of each class."""
    head = (*_WHERE, "class", "answers/s", "p50 ms", "p95 ms", "p99 ms", "failed")
    rows = [
        [*_where(one, each), kind.name, *_answers(kind)]
        for each in one.summaries
        for kind in each.kinds
    ]
    return Table("Answers by class", head, rows, 3, "All requests are of one class.")


def resources(one: Sheet) -> Table:
    """CPU, GPU and memory."""
    head = (
        *_WHERE,
        "server CPU ms an answer",
        "generator CPU ms a request",
        "memory MB",
        "GPU busy",
        "GPU memory MB",
        "sent late, p99 ms",
    )
    rows = [_where(one, each) + _resources(each) for each in one.summaries]
    return Table(f"{UNKNOWN} is not measured", head, rows, 2, "Nothing was measured.")


def _resources(of: Summary) -> list[Cell]:
    return [
        _estimated(of.server_cpu_ms_per_request),
        _estimated(of.generator_cpu_ms_per_request),
        _megabytes(of.resident_bytes),
        percent(value_of(of.gpu_utilisation)),
        _megabytes(of.gpu_memory_bytes),
        number(of.late_p99_ms),
    ]


def _megabytes(count: int | None) -> str:
    return number(None if count is None else count / 1e6)


def warm_up(one: Sheet) -> Table:
    """The first requests of each batch size."""
    rows: list[list[Cell]] = [
        [target.name, str(warm.rows), number(warm.first_ms), number(warm.last_ms)]
        for target in one.record.targets
        for warm in target.warm_up
    ]
    head = ("target", "images at once", "first ms", "last ms")
    return Table("Before anything was measured", head, rows, nothing="No warm-up was recorded.")


def stages(one: Sheet) -> Table:
    """What the server counted for each stage."""
    times = ("queue ms", "compute input ms", "compute infer ms", "compute output ms")
    counts = ("executions", "inferences", "mean batch")
    rows = [
        [*_where(one, each), stage.model, *map(number, _times_ms(stage)), *_counts(stage)]
        for each in one.summaries
        for stage in one.stages_of(each)
    ]
    head = (*_WHERE, "stage", *times, *counts)
    title = "Times are of one request; an inference is one image, an execution one batch"
    return Table(title, head, rows, 3, "The server said nothing of its stages.")


def _times_ms(of: StageSummary) -> tuple[float | None, ...]:
    return of.queue_ms, of.compute_input_ms, of.compute_infer_ms, of.compute_output_ms


def _counts(of: StageSummary) -> list[Cell]:
    return [f"{of.executions:,}", f"{of.inferences:,}", number(of.mean_batch)]


def unused(one: Sheet) -> Table:
    """Cells that do not count."""
    rows = [
        [*_where(one, each), str(cell.round + 1), cell.reason]
        for each in one.summaries
        for cell in each.unused
    ]
    title = f"{counted(len(rows), 'cell')} of {len(one.record.cells)}"
    return Table(title, (*_WHERE, "round", "why"), rows, 4, "Every cell counts.")

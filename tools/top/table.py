"""The table: a line for each model, and as many columns as there is room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tools.top.text import Glyphs, Line, Span, Style, cells, clean, cut, left, number, percent
from tools.top.view import Row, View

MIN_NAME = 12
"""Cells."""


@dataclass(frozen=True)
class _Column:
    """A figure of each row.

    Attributes:
        title: with the unit.
        width: cells, with the space before it.
        importance: the least important ones go first where there is no room for all.
        value: as text.
    """

    title: str
    width: int
    importance: int
    value: Callable[[Row, Glyphs], str]


_QUANTILES = {"p50 ms": 0.5, "p95 ms": 0.95, "p99 ms": 0.99}


def _quantile(title: str, importance: int) -> _Column:
    quantile = _QUANTILES[title]
    return _Column(title, 7, importance, lambda row, _: _ms(row.quantiles_s.get(quantile)))


def _ms(value_s: float | None) -> str:
    return number(None if value_s is None else 1e3 * value_s)


def _rejects(row: Row, glyphs: Glyphs) -> str:
    if row.rejected is None:
        return "-"
    return (glyphs.at_least if row.refuses else "") + number(row.per_s(row.rejected))


_COLUMNS = (
    _Column("req/s", 7, 9, lambda row, _: number(row.per_s(row.stage.seen.requests))),
    _Column("mean ms", 8, 5, lambda row, _: _ms(row.mean_s)),
    _quantile("p50 ms", 3),
    _quantile("p95 ms", 8),
    _quantile("p99 ms", 3),
    _Column("queue", 6, 7, lambda row, _: percent(row.queue_share)),
    _Column("batch", 6, 6, lambda row, _: number(row.mean_batch)),
    _Column("pending", 8, 4, lambda row, _: number(row.pending)),
    _Column("fail/s", 7, 4, lambda row, _: number(row.per_s(row.stage.seen.failures))),
    _Column("rej/s", 7, 2, _rejects),
    _Column("busy", 5, 1, lambda row, _: percent(row.stage.utilisation)),
)


def table(view: View, width: int, glyphs: Glyphs) -> Iterator[Line]:
    """A title and a line for each row."""
    names = [
        (_indent(row.depth, glyphs) + name, " !" if row.stage.seen.failures else "")
        for row, name in zip(view.rows, names_of(view.rows, glyphs), strict=True)
    ]
    longest = max(cells(name + mark) for name, mark in names)
    name_width = min(max(MIN_NAME, longest), max(MIN_NAME, width // 3))
    columns = _that_fit(width - name_width, view.has_quantiles)
    title = "".join(column.title.rjust(column.width) for column in columns)
    yield (Span(left("model", name_width, glyphs) + title, Style.STRONG),)
    for row, (name, mark) in zip(view.rows, names, strict=True):
        figures = "".join(column.value(row, glyphs).rjust(column.width) for column in columns)
        marked = cut(name, name_width - len(mark), glyphs.more) + mark
        yield (Span(left(marked, name_width, glyphs) + figures, _style(row)),)


def _indent(depth: int, glyphs: Glyphs) -> str:
    return "  " * (depth - 1) + glyphs.branch if depth else ""


def names_of(rows: Sequence[Row], glyphs: Glyphs) -> list[str]:
    """As they may be shown, with a version where there are several of a name."""
    models = [row.stage.model for row in rows]
    versions = Counter(model.name for model in models)
    return [
        clean(model.name + (f":{model.version}" if versions[model.name] > 1 else ""), glyphs)
        for model in models
    ]


def _that_fit(width: int, has_quantiles: bool) -> list[_Column]:
    columns = [one for one in _COLUMNS if has_quantiles or one.title not in _QUANTILES]
    while columns and sum(one.width for one in columns) > width:
        columns.remove(min(columns, key=lambda one: one.importance))
    return columns


def _style(row: Row) -> Style:
    if row.stage.seen.failures:
        return Style.WARNING
    return Style.PLAIN if row.stage.seen.requests else Style.DIM

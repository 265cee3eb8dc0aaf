"""The blocks that sections are made of: tables, figures, legends, what folds away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element

from tools.report.drawing import piece, swatch
from tools.report.markup import Child, node
from tools.report.tables import Cell, Table

_MANY = 8
"""Columns, from which on an interval goes below its value."""


def table(of: Table) -> Element:
    """A table that scrolls within itself where it is too wide."""
    if not of.rows:
        return node("p", of.nothing)
    names = [node("th", name, scope="col", class_=_kind(n, of)) for n, name in enumerate(of.head)]
    body = [
        node("tr", _name(row[0], len(group)) if n == 0 else None, _cells(row, of))
        for group in _groups(of.rows)
        for n, row in enumerate(group)
    ]
    parts = node("caption", of.caption), node("thead", node("tr", names)), node("tbody", body)
    kind = "wide dense" if len(of.head) > _MANY else "wide"
    about = {"tabindex": 0, "role": "region", "aria_label": of.caption}
    return node("div", node("table", *parts), class_=kind, **about)


def _groups(rows: Sequence[Sequence[Cell]]) -> Iterator[list[Sequence[Cell]]]:
    """Rows of one name."""
    return (list(group) for _, group in groupby(rows, lambda row: row[0]))


def _name(content: Cell, rows: int) -> Element:
    scope = "row" if rows == 1 else "rowgroup"
    span = None if rows == 1 else rows
    return node("th", content, scope=scope, rowspan=span, class_="words")


def _cells(row: Sequence[Cell], of: Table) -> Iterator[Element]:
    for n, cell in enumerate(row[1:], 1):
        yield node("td", _content(cell), class_=_kind(n, of))


def _content(cell: Cell) -> Child:
    if isinstance(cell, str):
        return cell
    interval = node("small", cell.interval, class_="interval") if cell.interval else None
    remark = node("small", cell.remark) if cell.remark else None
    return [cell.value, " ", interval, " ", remark]


def _kind(place: int, of: Table) -> str | None:
    return "words" if place < of.words else None


def figure(caption: str, *content: Child) -> Element:
    """A drawing with its caption."""
    return node("figure", node("figcaption", caption), content)


def figures(drawn: Iterable[Element]) -> Element:
    """Two side by side where there is room."""
    return node("div", drawn, class_="figures")


def legend(names: Mapping[str, int]) -> Element:
    """Which line is which."""
    items = [node("li", swatch(place), node("span", name)) for name, place in names.items()]
    return node("ul", items, class_="legend")


def pieces(names: Sequence[str]) -> Element:
    """Which pattern is which piece of a bar."""
    items = [node("li", piece(place), node("span", name)) for place, name in enumerate(names)]
    return node("ul", items, class_="legend")


def folded(summary: str, *content: Child) -> Element:
    """Content that opens at a touch, and in print."""
    return node("details", node("summary", summary), *content)


def facts(pairs: Mapping[str, str]) -> Element:
    """Names with their values."""
    items = [(node("dt", name), node("dd", value)) for name, value in pairs.items()]
    return node("dl", items)


def list_of(items: Iterable[Child]) -> Element:
    """A list."""
    return node("ul", [node("li", item) for item in items])

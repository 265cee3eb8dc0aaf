"""The summary for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tools.report.markup import visible
from tools.report.overview import apart
from tools.report.sheet import Sheet
from tools.report.tables import Table, answers
from tools.report.words import shortened

WIDTH = 80
_SHOWN = ("target", "load", "answers/s", "p95 ms", "failed", "rounds")
_LONGEST = 30


def text(sheets: Sequence[Sheet]) -> Iterator[str]:
    """Lines: the verdict of each record, what to know about it, and its answers."""
    warning = apart(sheets)
    if warning is not None:
        yield from textwrap.wrap(visible(warning), WIDTH)
        yield ""
    for n, one in enumerate(sheets):
        if n:
            yield ""
        if len(sheets) > 1:
            yield visible(one.name)
        yield from _one(one)


def _one(one: Sheet) -> Iterator[str]:
    yield from textwrap.wrap(visible(one.verdict.sentence), WIDTH)
    for note in one.verdict.notes:
        yield from textwrap.wrap(visible(note), WIDTH, initial_indent="- ", subsequent_indent="  ")
    for table in answers(one):
        yield ""
        yield from textwrap.wrap(visible(table.caption), WIDTH)
        yield from _lines(table)


def _lines(of: Table) -> Iterator[str]:
    kept = [place for place, name in enumerate(of.head) if name in _SHOWN]
    rows = [[_short(str(row[place])) for place in kept] for row in (of.head, *of.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if place < of.words else cell.rjust(width)
            for place, cell, width in zip(kept, row, widths, strict=True)
        )
        yield "  ".join(cells).rstrip()


def _short(cell: str) -> str:
    return shortened(" ".join(visible(cell).split()), _LONGEST)

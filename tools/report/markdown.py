"""The verdict and its tables as GitHub's Markdown, to be pasted into a pull request."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from tools.report.markup import visible
from tools.report.overview import apart
from tools.report.provenance import origin
from tools.report.sheet import Sheet
from tools.report.tables import (
    Table,
    answers,
    at_equal_load,
    at_equal_slo,
    failures,
    stages,
    unused,
)

_ACTIVE = re.compile(r"[\\`*_{}\[\]<>|~&$!]")
_NAMING = re.compile(r"[@#]")


def markdown(sheets: Sequence[Sheet]) -> Iterator[str]:
    """Pieces of one text."""
    warning = apart(sheets)
    if warning is not None:
        yield f"> {escaped(warning)}\n\n"
    for one in sheets:
        if len(sheets) > 1:
            yield f"### {escaped(one.name)}\n\n"
        yield from _one(one)


def _one(one: Sheet) -> Iterator[str]:
    yield f"**{escaped(one.verdict.sentence)}**\n\n"
    yield from (f"- {escaped(note)}\n" for note in one.verdict.notes)
    yield "\n"
    for each in answers(one):
        yield from _table(each)
    yield from _folded("At equal SLO", _table(at_equal_slo([one])))
    yield from _folded("At equal load", _table(at_equal_load(one)))
    yield from _folded("Where the time goes", _table(stages(one)))
    yield from _folded("Failures", _table(failures(one)))
    yield from _folded("What was not used", _table(unused(one)))
    yield from _folded("How to repeat it", _repeat(one))


def _folded(title: str, content: Iterator[str]) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>\n\n"
    yield from content
    yield "</details>\n\n"


def _table(of: Table) -> Iterator[str]:
    if not of.rows:
        yield f"{of.nothing}\n\n"
        return
    yield f"{escaped(of.caption)}\n\n"
    yield _row(of.head)
    yield _row_of("---" if n < of.words else "---:" for n in range(len(of.head)))
    yield from (_row([str(cell) for cell in row]) for row in of.rows)
    yield "\n"


def _row(cells: Sequence[str]) -> str:
    return _row_of(map(escaped, cells))


def _row_of(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _repeat(one: Sheet) -> Iterator[str]:
    command = visible(shlex.join(one.record.command))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
    yield f"{fence}sh\n{command}\n{fence}\n\n"
    yield from (f"- {escaped(name)}: {escaped(value)}\n" for name, value in origin(one).items())
    yield "\n"


def escaped(text: str) -> str:
    """The text on one line, with nothing that Markdown or GitHub would act on."""
    line = " ".join(visible(text).split())
    return _NAMING.sub(r"\g<0><!-- -->", _ACTIVE.sub(r"\\\g<0>", line))

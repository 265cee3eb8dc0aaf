"""The command line of ``tandem report``, apart from what is slow to import."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ensemble.errors import ContractMismatch

if TYPE_CHECKING:
    from tools.report.sheet import Sheet

STDOUT = Path("-")
FORMATS = ("html", "markdown", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after ``tandem report``."""
    add = parser.add_argument
    add("records", nargs="+", type=Path, metavar="RECORD", help="that bench wrote")
    add("--html", type=Path, metavar="FILE", help="one page that needs nothing but itself")
    add("--markdown", type=Path, metavar="FILE", help="for a pull request; - is standard output")
    add("--csv", type=Path, metavar="FILE", help="a row for each target and load; - as above")


def run(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Read, reduce, write; without a format, the summary as text.

    Args:
        options: that ``add_arguments`` parsed.
        out: for the text, and for what goes to ``-``.
        err: for the progress, which only a terminal gets.

    Returns:
        0.

    Raises:
        ContractMismatch: a file is no record, or would be overwritten.
        OSError: a file can't be read or written.
    """
    wanted = {name: path for name in FORMATS if (path := getattr(options, name)) is not None}
    _check(options.records, wanted.values())
    sheets = list(_read(options.records, err))
    for name, path in wanted.items():
        _write("".join(_writers()[name](sheets)), path, out)
    if not wanted:
        out.write("\n".join(_texts(options.records, sheets)))
    return 0


def _texts(paths: Sequence[Path], sheets: Sequence[Sheet]) -> Iterator[str]:
    """As ``bench`` says it at its end."""
    from tools.bench.report import as_text
    from tools.report.overview import apart
    from tools.terminal import plain

    warning = apart(sheets)
    if warning is not None:
        yield plain(warning) + "\n"
    yield from (f"{as_text(one.record, path)}\n" for path, one in zip(paths, sheets, strict=True))


def _writers() -> dict[str, Callable[[Sequence[Sheet]], Iterable[str]]]:
    from tools.report.markdown import markdown
    from tools.report.spreadsheet import spreadsheet
    from tools.report.webpage import webpage

    return {"html": webpage, "markdown": markdown, "csv": spreadsheet}


def _check(records: Sequence[Path], outputs: Iterable[Path]) -> None:
    taken = {path.resolve() for path in records}
    for path in outputs:
        if path.resolve() in taken:
            raise ContractMismatch(f"{path}: expected a file of its own for each output")
        taken.add(path.resolve())


def _read(paths: Sequence[Path], err: TextIO) -> Iterator[Sheet]:
    from tqdm import tqdm

    from tools.record.record import read
    from tools.report.sheet import Sheet

    files = zip(_names(paths), paths, strict=True)
    bar = tqdm(files, "reading", len(paths), file=err, disable=not err.isatty(), leave=False)
    for name, path in bar:
        yield Sheet(name, read(path))


def _names(paths: Sequence[Path]) -> list[str]:
    """Without folder and suffix where that tells them apart, and numbered where nothing does."""
    stems = Counter(path.stem for path in paths)
    names = [path.stem if stems[path.stem] == 1 else str(path) for path in paths]
    return [
        name if names.count(name) == 1 else f"{name} ({place})"
        for place, name in enumerate(names, 1)
    ]


def _write(text: str, path: Path, out: TextIO) -> None:
    if path == STDOUT:
        out.write(text)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)

"""The record while it grows: written after every round, and not broken off by Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tools.record.record import Cell, Record, write


@dataclass
class Keeper:
    """Writes what was measured so far.

    Attributes:
        path: of the file.
        record: without cells at first.
    """

    path: Path
    record: Record

    def save(self, cells: list[Cell], interrupted: bool) -> None:
        """All of them, and whether Ctrl-C ended the run.

        Raises:
            OSError: the file can't be written.
        """
        self.record = replace(self.record, cells=tuple(cells), interrupted=interrupted)
        with uninterrupted():
            write(self.record, self.path)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the end, and comes then."""
    asked: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if asked:
        raise KeyboardInterrupt

"""What makes the requests of one cell: Tandem's own generator, or another program."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from tools.load.generated import Generated
from tools.load.generator import Generator
from tools.load.loads import Run
from tools.record.samples import Samples

Tick = Callable[[float], None]
"""Called now and then with the seconds that have passed."""


class Engine(Protocol):
    """A load generator."""

    def run(self, run: Run, tick: Tick | None = None) -> Generated:
        """Send what the run asks for, and count what comes back."""


ENGINES: dict[str, Callable[[], AbstractContextManager[Engine]]] = {"tandem": Generator}


def samples_of(engine: Engine, run: Run) -> Samples:
    """A run that belongs to no cell.

    Raises:
        KeyboardInterrupt: Ctrl-C ended it.
    """
    generated = engine.run(run)
    if generated.interrupted:
        raise KeyboardInterrupt
    return generated.samples

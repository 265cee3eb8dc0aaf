"""How long to measure, and the line of progress."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """How long to measure.

    Attributes:
        seed: of every schedule.
        repetitions: of a run whose rivals are near; the others are run twice.
        loads: of open loops, as shares of the capacity.
        open_s: of an open loop.
        quiet_s: of an open loop at a low load.
        closed_s: of a closed loop.
        overload_s: of more than the server can do.
        clients: of closed loops.
        saturating_clients: of a closed loop whose batches are always full.
        bursts: with an urgent request.
        pairs: of requests, in the search for lost wake-ups.
        timeouts: in the search for late ones.
    """

    seed: int = 20_260
    repetitions: int = 3
    loads: tuple[float, ...] = (0.1, 0.45, 0.7, 0.9)
    open_s: float = 4.0
    quiet_s: float = 5.0
    closed_s: float = 1.8
    overload_s: float = 6.0
    clients: tuple[int, ...] = (8, 16, 32, 64)
    saturating_clients: int = 128
    bursts: int = 20
    pairs: int = 40
    timeouts: int = 5


QUICK = Plan(
    repetitions=1,
    loads=(0.45,),
    open_s=1.0,
    quiet_s=1.0,
    closed_s=0.6,
    overload_s=0.8,
    clients=(16,),
    saturating_clients=32,
    bursts=1,
    pairs=3,
    timeouts=1,
)
"""A smoke test: that everything runs, not what it says."""


def note(text: str) -> None:
    """One line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

"""What is measured on what, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from benchmarks.peers.catalogue import LARGE, USUAL
from tools.load.photographs import large, photographs

T = TypeVar("T")


@dataclass(frozen=True)
class PhotographSet:
    """Photographs of one size, and how servers are measured on them.

    Attributes:
        name: of the set.
        slo_p95_ms: the service level.
        callers: of the closed loops, ascending.
        window_s: of each measurement.
        size: width and height in pixels; None is the usual mixture.
    """

    name: str
    slo_p95_ms: float
    callers: tuple[int, ...]
    window_s: float
    size: tuple[int, int] | None = None

    def photographs(self) -> tuple[bytes, ...]:
        """Encoded."""
        return photographs() if self.size is None else large(*self.size)


SETS = (
    PhotographSet(USUAL, 100.0, (1, 4, 8, 16, 24), 2.2),
    PhotographSet(LARGE[0], 200.0, (1, 4, 8), 2.6, (2048, 1536)),
    PhotographSet(LARGE[1], 500.0, (1, 4), 3.8, (4000, 3000)),
)
"""The service level grows with the photographs, or it would only ask who decodes a single one in
time: OpenCV takes some 30 ms for 3 megapixels and 120 for 12."""
ROUNDS = 5
LIMIT_ROUNDS = (0, 2, 4)
"""In which the limit is measured as well; it takes a while to start."""


def quick(sets: Sequence[PhotographSet]) -> tuple[PhotographSet, ...]:
    """The same for a smoke test; its figures are noise."""
    return tuple(replace(one, callers=(1, one.callers[-1]), window_s=0.6) for one in sets)


def turns(servers: Sequence[T], callers: Sequence[int], number: int) -> Iterator[tuple[T, int]]:
    """One round: all servers at one load, then at the next.

    Who is first changes from load to load and from round to round, and every other round goes
    backwards, so that a drift of the machine falls on all alike.
    """
    for step, load in enumerate(callers):
        first = (number + step) % len(servers)
        order = [*servers[first:], *servers[:first]]
        for server in reversed(order) if number % 2 else order:
            yield server, load

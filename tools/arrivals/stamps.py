"""Times of arrival as a source has them, and as a recording from 0."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ensemble.errors import ContractMismatch
from tools.load.arrivals_file import MAX_ARRIVALS, Arrivals

Progress = Callable[[int], object]
"""Takes the bytes that were read since it was called last."""


@dataclass(frozen=True)
class Stamps:
    """What a source holds.

    Attributes:
        times_s: float64, in any order, on any clock.
        resolution_s: one step of that clock.
        source: what it is, for a reader.
        left_out: what was, and what else a reader must know.
    """

    times_s: array[float] = field(repr=False)
    resolution_s: float
    source: str
    left_out: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know."""
        if len(self.times_s) <= MAX_ARRIVALS:
            return self.left_out
        return (*self.left_out, f"only the first {MAX_ARRIVALS} of {len(self.times_s)} are used")

    @cached_property
    def arrivals(self) -> Arrivals:
        """As a recording: it begins with the first, and ends one mean gap after the last.

        Raises:
            ContractMismatch: all came at one time, or there are none.
        """
        times_s = np.sort(np.frombuffer(self.times_s, np.float64))[:MAX_ARRIVALS]
        if len(times_s) == 0 or times_s[0] == times_s[-1]:
            raise ContractMismatch(
                f"{self.source}: expected arrivals at two times or more, got {len(times_s)} at one"
            )
        times_s -= times_s[0]
        gap_s = max(times_s[-1] / (len(times_s) - 1), self.resolution_s)
        return Arrivals(times_s, float(times_s[-1] + gap_s), self.source, self.resolution_s)


def spread(arrivals: Arrivals, random: np.random.Generator) -> Arrivals:
    """Each at random within the step of the clock that stamped it.

    With stamps of a second, all requests of a second would else come at its beginning at once.
    """
    moved_s = arrivals.times_s + arrivals.resolution_s * random.random(len(arrivals.times_s))
    source = f"{arrivals.source}; at random within {arrivals.resolution_s:g} s each"
    return replace(arrivals, times_s=np.sort(moved_s), source=source)

"""Which cell is measured when: interleaved, and in an order that favours no side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tools.record.record import Load

OVERHEAD_S = 0.6
"""Of a cell: the last answers, statistics, the next schedule."""


class Side(NamedTuple):
    """What is compared at one load.

    Attributes:
        target: its name.
        protocol: ``grpc`` or ``http``.
    """

    target: str
    protocol: str


@dataclass(frozen=True)
class Step:
    """One cell that is to be measured.

    Attributes:
        round: from 0.
        side: target and protocol.
        load: what is put on it.
        arrivals_seed: of the schedule; the same for every side of a round.
        mix_seed: of classes and images; the same.
    """

    round: int
    side: Side
    load: Load
    arrivals_seed: int
    mix_seed: int


@dataclass(frozen=True)
class Plan:
    """All cells.

    Attributes:
        loads: each is put on every side, once a round.
        sides: targets and protocols.
        rounds: repetitions.
        duration_s: of one cell.
        seed: of everything random.
    """

    loads: tuple[Load, ...]
    sides: tuple[Side, ...]
    rounds: int
    duration_s: float
    seed: int

    @property
    def cells_a_round(self) -> int:
        """Loads times sides."""
        return len(self.loads) * len(self.sides)

    @property
    def cell_s(self) -> float:
        """About how long one cell takes."""
        return self.duration_s + OVERHEAD_S

    @property
    def round_s(self) -> float:
        """About how long one round takes."""
        return self.cells_a_round * self.cell_s

    def steps(self, number: int) -> Iterator[Step]:
        """One round. Sides of one load follow each other; loads go up, then down.

        A machine that grows faster or slower all the time, or whatever comes after a heavy load,
        would else always meet the same side.
        """
        places = range(len(self.loads))
        for place in reversed(places) if number % 2 else places:
            seeds = np.random.SeedSequence([self.seed, number, place]).generate_state(2)
            for side in turned(self.sides, number + place):
                yield Step(number, side, self.loads[place], int(seeds[0]), int(seeds[1]))


def turned(sides: tuple[Side, ...], number: int) -> tuple[Side, ...]:
    """Rotated every second time, reversed every other: each side comes at each place equally often.

    Of two sides: AB BA BA AB; of three: ABC CBA BCA ACB CAB BAC.
    """
    first = number // 2 % len(sides)
    order = sides[first:] + sides[:first]
    return order[::-1] if number % 2 else order

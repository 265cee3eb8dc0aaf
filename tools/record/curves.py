"""The loads of a record in order, cell by cell, as the comparison sees them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tools.record.cells import cells_by_key, credit, quantile, why_unused
from tools.record.record import Cell, Load, Record


class Values(NamedTuple):
    """Of one cell. A failed request counts as infinitely late.

    A latency is None where the cell had too few requests for it, see ``quantile``.
    """

    requests: int
    served: int
    throughput_per_s: float
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None

    @classmethod
    def of(cls, cell: Cell) -> Values:
        """What the comparison takes of a cell."""
        served = cell.samples.served
        late_ms = np.sort(np.where(served, 1e3 * cell.samples.latency_s, math.inf))
        return cls(
            len(served),
            int(served.sum()),
            float(credit(cell)[served].sum() / cell.duration_s),
            *(quantile(late_ms, share) for share in (0.50, 0.95, 0.99)),
        )


Rounds = Mapping[int, Values]
"""By round; those that count only."""


@dataclass(frozen=True)
class Curve:
    """Loads of one kind over one protocol.

    Attributes:
        protocol: ``grpc`` or ``http``.
        kind: ``closed`` or ``open``.
        arrivals: of an open load.
        targets: name to its loads, ascending, and each load's rounds.
    """

    protocol: str
    kind: str
    arrivals: str | None
    targets: Mapping[str, Mapping[Load, Rounds]]


def curves(record: Record) -> tuple[Curve, ...]:
    """Every cell that counts; targets in the order of the record."""
    found: dict[tuple[str, str, str | None], dict[str, dict[Load, Rounds]]] = {}
    for (target, load, protocol), cells in cells_by_key(record).items():
        loads = found.setdefault((protocol, load.kind, load.arrivals), {})
        used = [cell for cell in cells if why_unused(cell) is None and len(cell.samples)]
        loads.setdefault(target, {})[load] = {cell.round: Values.of(cell) for cell in used}
    return tuple(Curve(*key, targets) for key, targets in found.items())


def common_rounds(*rounds: Mapping[int, Any]) -> list[int]:
    """Rounds that all of them have, ascending."""
    return sorted(set.intersection(*map(set, rounds))) if rounds else []

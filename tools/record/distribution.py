"""Latencies of a target and load, all rounds together, for plots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tools.record.cells import cells_by_key, steady, why_unused
from tools.record.record import Cell, Load, Record
from tools.record.samples import Floats

BINS_PER_DECADE = 20


@dataclass(frozen=True)
class Distribution:
    """How long answers took.

    Attributes:
        target: its name.
        load: what was asked for.
        protocol: ``grpc`` or ``http``.
        edges_ms: of the bins, ascending, each a tenth or so above the last; the same for all of a
            record.
        counts: answers in each bin, one fewer than edges.
        failed: requests without an answer.
    """

    target: str
    load: Load
    protocol: str
    edges_ms: Floats
    counts: npt.NDArray[np.int64]
    failed: int


def distributions(
    record: Record, bins_per_decade: int = BINS_PER_DECADE
) -> tuple[Distribution, ...]:
    """One for each target, load and protocol, in the order of ``summarise``; empty without any."""
    keyed = {
        key: [cell for cell in cells if why_unused(cell) is None]
        for key, cells in cells_by_key(record).items()
    }
    served = {
        key: np.concatenate([np.empty(0), *map(_latency_ms, cells)]) for key, cells in keyed.items()
    }
    edges_ms = _edges_ms(np.concatenate([np.empty(0), *served.values()]), bins_per_decade)
    return tuple(
        Distribution(
            *key,
            edges_ms,
            np.histogram(np.maximum(served[key], edges_ms[0]), edges_ms)[0],
            sum(int((~one.samples.served).sum()) for one in cells),
        )
        for key, cells in keyed.items()
    )


def _latency_ms(cell: Cell) -> Floats:
    return np.asarray(1e3 * cell.samples.latency_s[cell.samples.served & steady(cell)])


def _edges_ms(latency_ms: Floats, per_decade: int) -> Floats:
    """From the shortest to the longest, at multiples of the step so that records line up."""
    positive = latency_ms[latency_ms > 0]
    ends_ms = (positive.min(), positive.max()) if len(positive) else (1.0, 1.0)
    first, last = np.floor(per_decade * np.log10(ends_ms))
    return np.asarray(10 ** (np.arange(first, last + 2) / per_decade))

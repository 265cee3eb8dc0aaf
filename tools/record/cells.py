"""The cells of a record in order, which of them count, and what each of their requests counts."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tools.record.record import Cell, Load, Record
from tools.record.samples import Floats

SHORTEST_S = 1e-6
LONGEST_S = 1e9
"""Of anything that a clock measured; a file may hold other numbers."""

Key = tuple[str, Load, str]
"""Target, load and protocol."""


def cells_by_key(record: Record) -> dict[Key, list[Cell]]:
    """Cells of each target, load and protocol: targets as in the record, loads ascending."""
    found: dict[Key, list[Cell]] = {}
    for cell in record.cells:
        found.setdefault((cell.target, cell.load, cell.protocol), []).append(cell)
    places = {target.name: place for place, target in enumerate(record.targets)}
    return dict(sorted(found.items(), key=lambda item: _order(item[0], places)))


def _order(key: Key, places: Mapping[str, int]) -> tuple[object, ...]:
    target, load, protocol = key
    return places.get(target, len(places)), protocol, load.kind, load.arrivals or "", load.value


def why_unused(cell: Cell) -> str | None:
    """Why a cell does not count; None: it does."""
    if cell.unused is not None:
        return cell.unused
    if not SHORTEST_S <= cell.duration_s <= LONGEST_S:
        return f"expected a duration of {SHORTEST_S:g} to {LONGEST_S:g} s, got {cell.duration_s:g}"
    for name in ("due_s", "late_s", "latency_s"):
        column = getattr(cell.samples, name)
        if not (np.abs(column) <= LONGEST_S).all():
            return f"{name}: expected seconds, got a value that is no time"
    if (cell.samples.latency_s < 0).any():
        return "latency_s: expected 0 or more, got less"
    return None


def quantile(ordered: Floats, share: float) -> float | None:
    """The order statistic of rank ``share * (n + 1)``, rounded up; None where n is less.

    The next request is within it with at least that probability, however few there were: a lower
    rank would flatter. p95 takes 19 values, p99 takes 99.

    Args:
        ordered: ascending; may end in infinities.
        share: 0.95 for p95.
    """
    rank = math.ceil(round(share * (len(ordered) + 1), 9))
    return float(ordered[rank - 1]) if 1 <= rank <= len(ordered) else None


def credit(cell: Cell) -> Floats:
    """How much of each request falls into the cell's duration, 0 to 1; throughput adds these up.

    What is under way at the end counts by its share in a closed loop, so that slow requests are
    not rounded away, and not at all in an open one, where a queue may have grown.
    """
    left_s, latency_s = cell.duration_s - cell.samples.due_s, cell.samples.latency_s
    share = np.ones(len(left_s))
    np.divide(left_s, latency_s, out=share, where=latency_s > left_s)
    share = np.clip(share, 0.0, 1.0)
    return share if cell.load.kind == "closed" else np.floor(share)

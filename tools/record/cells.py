"""The cells of a record in order, which of them count, and what each of their requests counts."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tools.record.record import Cell, Load, Record
from tools.record.samples import Floats

SHORTEST_S = 1e-6
LONGEST_S = 1e9
"""Of anything that a clock measured; a file may hold other numbers."""

Mask = npt.NDArray[np.bool_]
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
    if begin_s(cell) >= cell.duration_s:
        return f"not every caller had its first answer within {cell.duration_s:g} s"
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


def steady(cell: Cell) -> Mask:
    """Which requests' latencies count: in a closed loop not each caller's first.

    They all come at once and find an empty server; later ones come one by one and find it full.
    """
    callers = cell.load.value if cell.load.kind == "closed" else 0
    return np.asarray(np.arange(len(cell.samples)) >= callers)


def begin_s(cell: Cell) -> float:
    """From when on throughput counts: in a closed loop when every caller has its first answer."""
    done_s = cell.samples.due_s + cell.samples.latency_s
    return float(done_s[~steady(cell)].max(initial=0.0))


def credit(cell: Cell) -> Floats:
    """How much of each request, 0 to 1, lies between ``begin_s`` and the cell's end.

    A request that only a part of lies within counts by its share in a closed loop, so that slow
    requests are not rounded away, and not at all in an open one, where a queue may have grown.
    """
    due_s, latency_s = cell.samples.due_s, cell.samples.latency_s
    done_s = due_s + latency_s
    if cell.load.kind != "closed":
        return np.asarray(done_s <= cell.duration_s, np.float64)
    inside_s = np.minimum(done_s, cell.duration_s) - np.maximum(due_s, begin_s(cell))
    share = (inside_s >= 0).astype(np.float64)
    np.divide(inside_s, latency_s, out=share, where=latency_s > 0)
    return np.asarray(np.clip(share, 0.0, 1.0))


def throughput_per_s(cell: Cell, which: Mask) -> float:
    """Answers a second, of some of the requests."""
    return float(credit(cell)[which].sum() / (cell.duration_s - begin_s(cell)))

"""Arrivals in a record: when the requests of an open-loop cell were due."""

from __future__ import annotations

from array import array
from pathlib import Path

from ensemble.errors import ContractMismatch
from tools.arrivals.stamps import Stamps
from tools.record.record import read as read_record

_RESOLUTION_S = 1e-6


def read(file: Path, number: int | None) -> Stamps:
    """Arrivals of one cell.

    Args:
        file: the record.
        number: of the cell, from 1; None: the first with an open loop.

    Raises:
        ContractMismatch: it is no record, or the cell is no such one.
        OSError: it can't be read.
    """
    cells = dict(enumerate(read_record(file).cells, 1))
    opened = {place: cell for place, cell in cells.items() if cell.load.kind == "open"}
    chosen = number if number is not None else next(iter(opened), None)
    if chosen is None or chosen not in opened:
        raise ContractMismatch(
            f"{file}: expected {'a' if number is None else f'cell {number} to be a'} cell with an "
            f"open loop, got {len(opened)} of them in {len(cells)} cells; a closed loop has no "
            "arrivals of its own"
        )
    cell = cells[chosen]
    of_others = f"{len(opened) - 1} other open-loop cells (--cell)"
    return Stamps(
        array("d", cell.samples.due_s.tolist()),
        _RESOLUTION_S,
        f"record {file.name}, cell {chosen}: {cell.load.label!r:.80} on {cell.target!r:.80}",
        (of_others,) if len(opened) > 1 else (),
    )

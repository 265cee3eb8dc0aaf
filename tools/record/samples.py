"""What became of every request of one cell: columns, one request a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

OUTCOMES = (
    "ok",
    "invalid_input",
    "timed_out",
    "too_busy",
    "unavailable",
    "deadline",
    "out_of_memory",
    "cancelled",
    "network",
    "internal",
)
"""What can become of a request, counted at the client.

``timed_out`` is Triton's queue timeout, ``too_busy`` a full queue, ``deadline`` the caller's own
limit, ``network`` a connection that broke or was never made.
"""
OK = 0


@dataclass(frozen=True)
class Samples:
    """Every request of one cell in the order of its schedule, as columns of one length.

    Attributes:
        due_s: when it had to be sent, seconds from the start of the cell; in a closed loop, when
            it was.
        late_s: how much later it was handed to the transport; 0 in a closed loop.
        latency_s: from ``due_s`` to the answer or the failure.
        outcome: index into ``OUTCOMES``.
        kind: which class of the mix, by its place.
    """

    due_s: Floats
    late_s: Floats
    latency_s: Floats
    outcome: Integers
    kind: Integers

    def __len__(self) -> int:
        return len(self.due_s)

    @property
    def served(self) -> npt.NDArray[np.bool_]:
        """Which were answered."""
        return np.asarray(self.outcome == OK)

    def errors(self) -> dict[str, int]:
        """Failures by cause, those that happened."""
        counts = np.bincount(self.outcome, minlength=len(OUTCOMES)).tolist()
        return {OUTCOMES[n]: count for n, count in enumerate(counts) if count and n != OK}

    def to_json(self) -> dict[str, Any]:
        """Columns in milliseconds; failures and kinds only where there are any."""
        failed = np.flatnonzero(self.outcome)
        fields: dict[str, Any] = {
            "due_ms": _milliseconds(self.due_s),
            "latency_ms": _milliseconds(self.latency_s),
        }
        if self.late_s.any():
            fields["late_ms"] = _milliseconds(self.late_s)
        if len(failed):
            fields["failed"] = [[int(n), OUTCOMES[self.outcome[n]]] for n in failed]
        if self.kind.any():
            fields["kind"] = self.kind.tolist()
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Samples:
        """Back from ``to_json``.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        due_s = _seconds(fields["due_ms"])
        outcome = np.zeros(len(due_s), np.int64)
        for place, name in fields.get("failed", ()):
            outcome[place] = OUTCOMES.index(name)
        samples = cls(
            due_s,
            _seconds(fields["late_ms"]) if "late_ms" in fields else np.zeros(len(due_s)),
            _seconds(fields["latency_ms"]),
            outcome,
            np.asarray(fields.get("kind", np.zeros(len(due_s))), np.int64),
        )
        columns = (due_s, samples.late_s, samples.latency_s, samples.kind)
        shapes = {column.shape for column in columns}
        if shapes != {(len(due_s),)}:
            raise ValueError(f"expected {len(due_s)} values in every column, got {shapes}")
        return samples


def _milliseconds(seconds: Floats) -> list[float]:
    return [round(value, 3) for value in (1e3 * seconds).tolist()]


def _seconds(milliseconds: list[float]) -> Floats:
    return np.asarray(milliseconds, np.float64) / 1e3

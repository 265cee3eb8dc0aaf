"""Recorded arrivals: one small JSON file of times from 0, for ``bench`` to replay.

``{"format": "tandem-arrivals", "version": 1, "source": "…", "resolution_s": 0.001,
"duration_s": 60.0, "times_s": [0.0, 0.012, …]}``; nothing else is needed to write one by hand.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ensemble.errors import ContractMismatch
from tools.document import read_fields, whole
from tools.record.samples import Floats

FORMAT = "tandem-arrivals"
VERSION = 1
MAX_ARRIVALS = 10_000_000
MAX_BYTES = 20 * MAX_ARRIVALS
"""Of a file: a time in microseconds of a whole day takes 13."""
_CHUNK = 10_000


@dataclass(frozen=True)
class Arrivals:
    """When requests came.

    Attributes:
        times_s: ascending, 0 or later, before ``duration_s``; at least one.
        duration_s: of the recording.
        source: where they come from, for a reader.
        resolution_s: what one step of the clock that stamped them is; 0: not known.
    """

    times_s: Floats = field(repr=False)
    duration_s: float
    source: str = ""
    resolution_s: float = 0.0

    def __post_init__(self) -> None:
        """Raises ContractMismatch: they are none."""
        times_s = self.times_s
        if not 0 < len(times_s) <= MAX_ARRIVALS:
            raise ContractMismatch(f"expected 1 to {MAX_ARRIVALS} arrivals, got {len(times_s)}")
        if not np.isfinite(times_s).all():
            raise ContractMismatch("expected times in seconds, got one that is no number")
        if times_s[0] < 0:
            raise ContractMismatch(f"expected times from 0, got {times_s[0]:g}")
        back = np.flatnonzero(np.diff(times_s) < 0)
        if len(back):
            earlier, later = times_s[back[0]], times_s[back[0] + 1]
            raise ContractMismatch(f"expected ascending times, got {later:g} after {earlier:g}")
        if not times_s[-1] < self.duration_s < math.inf:
            raise ContractMismatch(
                f"expected duration_s above the last arrival at {times_s[-1]:g} s, "
                f"got {self.duration_s:g}"
            )

    @property
    def rate_per_s(self) -> float:
        """Mean arrival rate."""
        return len(self.times_s) / self.duration_s


def write(arrivals: Arrivals, path: Path) -> None:
    """As JSON, times to the microsecond; the file is there whole or not at all.

    Raises:
        OSError: it can't be written.
    """
    head = {
        "format": FORMAT,
        "version": VERSION,
        "source": arrivals.source,
        "resolution_s": arrivals.resolution_s,
        "duration_s": arrivals.duration_s,
    }
    with whole(path) as file:
        file.write(json.dumps(head)[:-1] + ', "times_s": [\n')
        file.writelines(_lines(arrivals.times_s))
        file.write("]}\n")


def _lines(times_s: Floats) -> Iterator[str]:
    for start in range(0, len(times_s), _CHUNK):
        numbers = (f"{math.floor(1e6 * t) / 1e6:.6f}" for t in times_s[start : start + _CHUNK])
        yield ("," if start else "") + ",".join(numbers) + "\n"


def read(path: Path) -> Arrivals:
    """Arrivals from their file.

    Raises:
        ContractMismatch: it holds none.
        OSError: it can't be read.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ContractMismatch(f"{path}: expected at most {MAX_BYTES} bytes, got {size}")
    fields = read_fields(path, "arrivals", FORMAT, VERSION)
    try:
        return _arrivals(fields)
    except ContractMismatch as error:
        raise ContractMismatch(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ContractMismatch(f"{path}: expected arrivals, got {error!r:.120}") from error


def _arrivals(fields: dict[str, Any]) -> Arrivals:
    times_s = np.asarray(fields["times_s"], np.float64)
    if times_s.ndim != 1:
        raise ContractMismatch(f"expected one list of times, got {times_s.ndim} dimensions")
    return Arrivals(
        times_s,
        float(fields["duration_s"]),
        str(fields.get("source", "")),
        float(fields.get("resolution_s", 0.0)),
    )

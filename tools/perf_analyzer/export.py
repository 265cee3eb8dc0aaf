"""What perf_analyzer leaves: when each request was sent and answered, as samples."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ensemble.errors import BackendFailure
from tools.record.samples import Floats, Samples


@dataclass(frozen=True)
class Requests:
    """Those that it lists, in the order in which they were sent.

    Attributes:
        sent_s: seconds from the start of its first window, where a schedule starts too.
        answered_s: the same.
    """

    sent_s: Floats
    answered_s: Floats

    def __len__(self) -> int:
        return len(self.sent_s)


@dataclass(frozen=True)
class Steady:
    """A closed loop, as far as everything of it is known.

    Attributes:
        samples: requests sent while every one that was under way is listed.
        duration_s: of that time.
        unlisted: requests of the run that are not in ``samples``.
    """

    samples: Samples
    duration_s: float
    unlisted: int


def read_export(path: Path) -> Requests:
    """From ``--profile-export-file``.

    Raises:
        BackendFailure: it is something else.
    """
    try:
        # Outputs are in it as raw bytes within the JSON strings; nobody needs them.
        fields = json.loads(path.read_bytes().decode("latin-1"), strict=False)
        (experiment,) = fields["experiments"]
        start_ns = int(experiment["window_boundaries"][0])
        pairs = [
            (int(one["timestamp"]) - start_ns, int(one["response_timestamps"][-1]) - start_ns)
            for one in experiment["requests"]
            if one["response_timestamps"]
        ]
        times_s = np.array(sorted(pairs), np.float64).reshape(-1, 2) / 1e9
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise BackendFailure(
            f"perf_analyzer's export: expected requests, got {error!r:.120}"
        ) from error
    return Requests(times_s[:, 0], times_s[:, 1])


def scheduled(requests: Requests, due_s: Floats) -> Samples:
    """Of an open loop; latency counts from the schedule.

    Raises:
        BackendFailure: it lists more requests, or fewer.
    """
    if len(requests) != len(due_s):
        raise BackendFailure(
            f"perf_analyzer's export: expected {len(due_s)} requests, got {len(requests)}"
        )
    late_s = np.maximum(0.0, requests.sent_s - due_s)
    return _samples(due_s, late_s, requests.answered_s - due_s)


def steady(requests: Requests, callers: int) -> Steady:
    """Of a closed loop. It lists no request that was under way at the end.

    As every caller has one under way at any time, all are listed until fewer than that are for the
    rest of the run; what was sent later is left out, since its slow part is missing.

    Raises:
        BackendFailure: there never were as many at a time.
    """
    times_s = np.concatenate([requests.sent_s, requests.answered_s])
    steps = np.repeat([1, -1], len(requests))
    order = np.lexsort((steps, times_s))  # a caller has its answer before it sends again
    all_there = np.flatnonzero(np.cumsum(steps[order]) >= callers)
    if not len(all_there):
        raise BackendFailure(
            f"perf_analyzer's export: expected {callers} requests at a time, got {len(requests)} "
            "in all; lengthen --duration-s"
        )
    start_s, end_s = requests.sent_s[0], times_s[order][all_there[-1] + 1]
    known = requests.sent_s < end_s
    sent_s = requests.sent_s[known]
    samples = _samples(sent_s - start_s, np.zeros(len(sent_s)), requests.answered_s[known] - sent_s)
    unlisted = len(requests) - len(samples) + callers
    return Steady(samples, float(end_s - start_s), unlisted)


def _samples(due_s: Floats, late_s: Floats, latency_s: Floats) -> Samples:
    none = np.zeros(len(due_s), np.int64)  # it ends with the first request that fails
    return Samples(due_s, late_s, latency_s, outcome=none, kind=none)

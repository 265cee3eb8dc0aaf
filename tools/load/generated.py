"""What a run of the load generator gives, and whether it may be used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tools.record.samples import Samples

LEAST_LATE_S = 1e-3
LATE_SHARE = 0.1
"""Latency counts from the schedule, so that lateness of the generator is in it: p99 of the one may
be a tenth of p95 of the other at most. One millisecond is always allowed."""
BUSY_SHARE = 0.9
"""A generator that uses this much of one core measures itself: Python does one thing at a time."""


@dataclass(frozen=True)
class Generated:
    """One run.

    Attributes:
        samples: every request.
        cpu_s: user and system time of the generator.
        wall_s: from the start to the last answer.
        interrupted: whether it was ended early; then there are the requests up to that moment.
    """

    samples: Samples
    cpu_s: float
    wall_s: float
    interrupted: bool = False

    @property
    def late(self) -> str | None:
        """Why the run must not be used, which is the generator's fault; None: it may."""
        return _behind(self.samples) or _busy(self.cpu_s, self.wall_s)


def _behind(samples: Samples) -> str | None:
    if not len(samples):
        return None
    late_s = float(np.percentile(samples.late_s, 99))
    limit_s = LEAST_LATE_S
    if samples.served.any():
        p95_s = float(np.percentile(samples.latency_s[samples.served], 95))
        limit_s = max(limit_s, LATE_SHARE * p95_s)
    if late_s <= limit_s:
        return None
    return (
        f"the generator was behind its schedule: p99 {1e3 * late_s:.1f} ms, "
        f"allowed {1e3 * limit_s:.1f} ms"
    )


def _busy(cpu_s: float, wall_s: float) -> str | None:
    if cpu_s < BUSY_SHARE * wall_s:
        return None
    return (
        f"the generator was at its own limit: {cpu_s:.1f} s of CPU in {wall_s:.1f} s, "
        f"allowed {BUSY_SHARE:.0%} of one core"
    )

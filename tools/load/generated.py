"""What a run of the load generator gives, and whether it may be used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tools.record.cells import quantile
from tools.record.samples import Samples

LEAST_LATE_S = 1e-3
LATE_SHARE = 0.1
LEVELS = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
"""Latency counts from the schedule, so that lateness of the generator is in it: of each of these a
tenth may be its doing. One millisecond is always allowed."""
BUSY_SHARE = 0.9
"""A generator that uses this much of the cores that it can use measures itself."""


@dataclass(frozen=True)
class Generated:
    """One run.

    Attributes:
        samples: every request.
        cpu_s: user and system time of the generator.
        wall_s: from the start to the last answer.
        interrupted: whether it was ended early; then there are the requests up to that moment.
        fault: why the run is of no use, whatever its samples say.
        duration_s: in which requests were due, where it is not the run's own.
        unlisted: requests that were sent and are not in ``samples``.
        cores: that the generator can use; Python does one thing at a time.
    """

    samples: Samples
    cpu_s: float
    wall_s: float
    interrupted: bool = False
    fault: str | None = None
    duration_s: float | None = None
    unlisted: int = 0
    cores: int = 1

    @property
    def late(self) -> str | None:
        """Why the run must not be used, which is the generator's fault; None: it may."""
        return _behind(self.samples) or _busy(self.cpu_s, self.wall_s, self.cores)


def _behind(samples: Samples) -> str | None:
    asked = samples.served if samples.served.any() else np.ones(len(samples), bool)
    seen_s = np.sort(samples.latency_s[asked])
    without_s = np.sort((samples.latency_s - samples.late_s)[asked])
    for name, level in LEVELS.items():
        seen, without = quantile(seen_s, level), quantile(without_s, level)
        if seen is None or without is None:
            continue
        if seen - without > max(LEAST_LATE_S, LATE_SHARE * seen):
            return (
                f"the generator was behind its schedule: {1e3 * (seen - without):.1f} ms of a "
                f"{name} of {1e3 * seen:.1f} ms are its own"
            )
    return None


def _busy(cpu_s: float, wall_s: float, cores: int) -> str | None:
    if cpu_s < BUSY_SHARE * cores * wall_s:
        return None
    return (
        f"the generator was at its own limit: {cpu_s:.1f} s of CPU in {wall_s:.1f} s, "
        f"allowed {BUSY_SHARE:.0%} of {'one core' if cores == 1 else f'{cores} cores'}"
    )

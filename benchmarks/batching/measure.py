"""One run of one variant under one load, and pairs of runs compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.batching.load import Outcome
from benchmarks.batching.server import Executions, Triton
from benchmarks.batching.sleepers import Variant
from tools.record.samples import Floats

STALL_MS = 450.0
"""Less than the 500 ms after which Triton's batcher looks again, more than any execution here."""
LATE_MS = 25.0
"""A run whose client sent more than 1 % of its requests later than this is measured again."""
ATTEMPTS = 2

Json = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What one run gave.

    Attributes:
        variant: what was called.
        outcome: every request.
        executions: of each stage, during the run.
        duration_s: of the load.
        warm_up_s: what is left out of every figure but the executions.
        attempts: how often it was measured before the client was punctual.
    """

    variant: Variant
    outcome: Outcome
    executions: dict[str, Executions]
    duration_s: float
    warm_up_s: float
    attempts: int = 1

    @property
    def latencies_ms(self) -> Floats:
        """Of the requests served, after the warm-up."""
        return self.outcome.latencies_ms(self.warm_up_s)

    def summary(self, slo_ms: float | None = None) -> Json:
        """The figures of the record."""
        due, done = np.array(self.outcome.due_s), np.array(self.outcome.done_s)
        counted = due >= self.warm_up_s
        latencies = self.latencies_ms
        span_s = self.duration_s - self.warm_up_s
        answers = done[np.array(self.outcome.served)]
        in_span = (answers >= self.warm_up_s) & (answers < self.duration_s)
        result: Json = {
            "offered": int(counted.sum()),
            "served": len(latencies),
            "throughput_per_s": round(float(in_span.sum()) / span_s, 2),
            **percentiles(latencies),
            **_silences(answers, self.duration_s),
            "client_late_p99_ms": round(client_late_p99_ms(self.outcome), 2),
            "attempts": self.attempts,
            "stages": {s: self._stage(s, e) for s, e in self.executions.items()},
        }
        if slo_ms is not None:
            in_time = float((latencies <= slo_ms).sum())
            result["in_time_share"] = round(in_time / max(1, int(counted.sum())), 4)
            result["goodput_per_s"] = round(in_time / span_s, 2)
        return result

    def _stage(self, stage: str, executions: Executions) -> Json:
        """Executions of one stage; device time by the declared cost, and how far it was off."""
        if not executions.count:
            return {"executions": 0}
        cost = self.variant.costs[stage]
        busy_ms = sum(cost.of_ms(size) * count for size, count in executions.by_size.items())
        return {
            "executions": executions.count,
            "mean_batch": round(executions.images / executions.count, 2),
            "device_ms_per_image": round(busy_ms / executions.images, 3),
            "measured_over_declared": round(executions.busy_s * 1e3 / busy_ms, 3),
        }


def percentiles(latencies_ms: Floats) -> Json:
    """p50, p95, p99 and the longest; None where nothing was served."""
    if not len(latencies_ms):
        return {"p50_ms": None, "p95_ms": None, "p99_ms": None, "max_ms": None}
    p50, p95, p99 = np.percentile(latencies_ms, [50, 95, 99])
    values = {"p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "max_ms": latencies_ms.max()}
    return {name: round(float(value), 1) for name, value in values.items()}


def client_late_p99_ms(outcome: Outcome) -> float:
    """How late the client was, which is the machine's noise and no queue of the server."""
    return float(np.percentile(np.array(outcome.sent_s) - np.array(outcome.due_s), 99)) * 1e3


def histogram_ms(latencies_ms: Iterable[float]) -> dict[str, int]:
    """Counts by bins 10 % wide, named by their lower edge in milliseconds."""
    found: dict[str, int] = {}
    for bin_ in sorted(int(math.log(max(1.0, ms), 1.1)) for ms in latencies_ms):
        name = f"{1.1**bin_:.4g}"
        found[name] = found.get(name, 0) + 1
    return found


def measure(
    triton: Triton, variant: Variant, load: Callable[[], Outcome], duration_s: float
) -> Run:
    """Apply a load; again when the client itself was late, which says nothing of the server."""
    warm_up_s = min(1.0, duration_s / 5)
    for attempt in range(1, ATTEMPTS + 1):
        before = triton.executions()
        outcome = load()
        after = triton.executions()
        executions = {
            stage: after[variant.model(stage)].since(before[variant.model(stage)])
            for stage in variant.stages
        }
        run = Run(variant, outcome, executions, duration_s, warm_up_s, attempt)
        if client_late_p99_ms(outcome) <= LATE_MS:
            break
    return run


def change_pct(of: list[Json], against: list[Json], value: Callable[[Json], float]) -> Json:
    """Change in percent, repetition by repetition: geometric mean, smallest and largest.

    Repetitions of one index had the same arrivals and ran next to each other.
    """
    logs = [math.log(value(b) / value(a)) for a, b in zip(against, of, strict=True)]
    percent = [100 * math.expm1(log) for log in logs]
    return {
        "mean_pct": round(100 * math.expm1(sum(logs) / len(logs)), 1),
        "min_pct": round(min(percent), 1),
        "max_pct": round(max(percent), 1),
        "repetitions": len(percent),
    }


def _silences(answers_s: Floats, until_s: float) -> Json:
    """The longest time without an answer, and how often it was longer than ``STALL_MS``."""
    gaps_ms = np.diff(np.sort(answers_s[answers_s < until_s])) * 1e3
    longest = float(gaps_ms.max()) if len(gaps_ms) else 0.0
    return {"longest_silence_ms": round(longest, 1), "silences": int((gaps_ms > STALL_MS).sum())}

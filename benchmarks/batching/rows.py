"""Rows of a record: one variant under one load, measured several times, beside its rivals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.batching.load import Call, Outcome, closed_loop, open_loop
from benchmarks.batching.measure import Json, Run, change_pct, histogram_ms, measure, percentiles
from benchmarks.batching.plan import note
from benchmarks.batching.server import Triton
from benchmarks.batching.sleepers import Variant
from tools.load.arrivals import Poisson


@dataclass(frozen=True)
class Point:
    """One load.

    Attributes:
        label: what tells it from the other points of its experiment.
        duration_s: of each run.
        rate_per_s: of independent callers; None for a closed loop.
        clients: of a closed loop.
        slo_ms: what counts as in time.
    """

    label: str
    duration_s: float
    rate_per_s: float | None = None
    clients: int = 0
    slo_ms: float | None = None


@dataclass
class Row:
    """Every run of one variant at one point."""

    variant: Variant
    point: Point
    runs: list[Run] = field(default_factory=list)

    @property
    def summaries(self) -> list[Json]:
        """One for each repetition."""
        return [run.summary(self.point.slo_ms) for run in self.runs]

    def to_json(self) -> Json:
        """Summaries, and histograms over all repetitions."""
        sizes: dict[str, Counter[int]] = {stage: Counter() for stage in self.variant.stages}
        for run in self.runs:
            for stage, executions in run.executions.items():
                sizes[stage].update(executions.by_size)
        latencies_ms = np.concatenate([run.latencies_ms for run in self.runs])
        return {
            "variant": self.variant.name,
            "load": self.point.label,
            "pooled": percentiles(latencies_ms),
            "repetitions": self.summaries,
            "latency_histogram_ms": histogram_ms(latencies_ms),
            "batch_sizes": {
                stage: {str(size): count for size, count in sorted(counts.items())}
                for stage, counts in sizes.items()
            },
        }


def measured(
    triton: Triton, variants: list[Variant], point: Point, seed: list[int], repetitions: int
) -> list[Row]:
    """Every variant at one point, interleaved: A B C, then B C A, each round with one schedule."""
    rows = [Row(variant, point) for variant in variants]
    for repetition in range(repetitions):
        apply = _loads(triton, point, [*seed, repetition])
        order = range(repetition, repetition + len(rows))
        for index in order:
            row = rows[index % len(rows)]
            row.runs.append(measure(triton, row.variant, apply(row.variant), point.duration_s))
    for row in rows:
        first = row.summaries[0]
        note(
            f"  {point.label:6s} {row.variant.name:24s} p95 {first['p95_ms']} ms, "
            f"{first['throughput_per_s']:.0f}/s, attempts {[run.attempts for run in row.runs]}"
        )
    return rows


def _loads(
    triton: Triton, point: Point, seed: list[int]
) -> Callable[[Variant], Callable[[], Outcome]]:
    if point.rate_per_s is None:
        return lambda variant: (
            lambda: closed_loop(triton.grpc, variant.entry, point.clients, point.duration_s)
        )
    due_s = Poisson().times_s(point.rate_per_s, point.duration_s, np.random.default_rng(seed))
    return lambda variant: lambda: open_loop(triton.grpc, [Call(variant.entry)], due_s)[0]


def p95_ms(summary: Json) -> float:
    """Of the requests served."""
    return float(summary["p95_ms"])


def classifier_ms_per_image(summary: Json) -> float:
    """Time of the classifier's device for one image."""
    return float(summary["stages"]["classifier"]["device_ms_per_image"])


def throughput_per_s(summary: Json) -> float:
    """Answers a second."""
    return float(summary["throughput_per_s"])


VALUES: dict[str, Callable[[Json], float]] = {
    "p50_ms": lambda summary: float(summary["p50_ms"]),
    "p95_ms": p95_ms,
    "p99_ms": lambda summary: float(summary["p99_ms"]),
    "throughput_per_s": throughput_per_s,
    "classifier_ms_per_image": classifier_ms_per_image,
}


def changes(rows: list[Row], against: str, values: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Every row against the row ``against`` at the same point."""
    base = {row.point.label: row for row in rows if row.variant.name == against}
    for row in rows:
        if row.variant.name != against and row.point.label in base:
            rival = base[row.point.label].summaries
            yield {
                "load": row.point.label,
                "variant": row.variant.name,
                "against": against,
                **{name: change_pct(row.summaries, rival, VALUES[name]) for name in values},
            }

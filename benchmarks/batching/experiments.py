"""The experiments on steady loads, all on one server."""

from __future__ import annotations

from typing import Any

from benchmarks.batching.measure import Json
from benchmarks.batching.plan import Plan, note
from benchmarks.batching.rows import Point, Row, changes, measured
from benchmarks.batching.server import Triton
from benchmarks.batching.variants import COMPARED_AT, OVERLOADED, SATURATED, STAGED, T

SLO_MS = 1000.0
"""100 ms of a GPU, stretched."""
OVERLOAD = 1.3


def independent_callers(triton: Triton, plan: Plan) -> Json:
    """Open loop at several loads: the profiles of the tandem against ``interactive``."""
    note("independent callers")
    rows: list[Row] = []
    for index, (load, names) in enumerate(COMPARED_AT.items()):
        if load not in plan.loads:
            continue
        rate_per_s = load * T["interactive"].capacity_per_s
        duration_s = plan.quiet_s if load < 0.2 else plan.open_s
        point = Point(f"{load:.0%}", duration_s, rate_per_s, slo_ms=SLO_MS)
        variants = [T[name] for name in names]
        rows += measured(triton, variants, point, [plan.seed, 1, index], plan.repetitions)
    values = ("p50_ms", "p95_ms", "p99_ms", "classifier_ms_per_image")
    return _result(rows, [*changes(rows, "interactive", values), *_interactive_gains(rows)])


def _interactive_gains(rows: list[Row]) -> list[dict[str, Any]]:
    """The same pairs read the other way: how much lower ``interactive`` is than each recipe."""
    return [
        change
        for recipe in ("recipe-interactive", "recipe-bulk")
        for change in changes(rows, recipe, ("p95_ms",))
        if change["variant"] == "interactive"
    ]


def resending_clients(triton: Triton, plan: Plan) -> Json:
    """Closed loops: ``bulk`` and ``recipe-bulk`` against ``interactive``, tandem and one stage."""
    result = {}
    for what, variants in STAGED.items():
        note(f"clients that resend at once, {what}")
        rows: list[Row] = []
        for clients in plan.clients:
            point = Point(f"k={clients}", plan.closed_s, clients=clients)
            rows += measured(triton, variants, point, [], min(2, plan.repetitions))
        values = ("throughput_per_s", "p95_ms", "classifier_ms_per_image")
        result[what] = _result(rows, [*changes(rows, variants[0].name, values)])
    return result


def saturation(triton: Triton, plan: Plan) -> Json:
    """The most that ``baseline`` and ``interactive`` can do, on a GPU-like and a CPU-like stage."""
    result = {}
    for what, variants in SATURATED.items():
        note(f"saturation, {what}")
        # A CPU-like batch of 64 takes more than a second: too coarse for a short run.
        clients = plan.saturating_clients if what == "tandem" else 16
        point = Point(f"k={clients}", 2 * plan.closed_s, clients=clients)
        rows = measured(triton, variants, point, [], 1)
        result[what] = _result(rows, [*changes(rows, variants[0].name, ("throughput_per_s",))])
    return result


def overload(triton: Triton, plan: Plan) -> Json:
    """More than the capacity: what is served in time, and why a bounded queue is no remedy."""
    note("overload")
    rate_per_s = OVERLOAD * T["interactive"].capacity_per_s
    point = Point(f"{OVERLOAD:.0%}", plan.overload_s, rate_per_s, slo_ms=SLO_MS)
    rows = measured(triton, OVERLOADED, point, [plan.seed, 2], min(2, plan.repetitions))
    return _result(rows, []) | {"slo_ms": SLO_MS, "most_in_time_share": round(1 / OVERLOAD, 3)}


def _result(rows: list[Row], compared: list[dict[str, Any]]) -> Json:
    return {"rows": [row.to_json() for row in rows], "compared": compared}

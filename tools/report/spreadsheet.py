"""Every summary as one row of comma-separated values, for a spreadsheet.

Source: RFC 4180. A name that a spreadsheet would take for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

from tools.record.intervals import Estimate
from tools.record.samples import OUTCOMES
from tools.record.summary import Summary
from tools.report.markup import visible
from tools.report.sheet import Sheet

_ESTIMATES = (
    "throughput_per_s",
    "goodput_per_s",
    "mean_ms",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "server_cpu_ms_per_request",
    "generator_cpu_ms_per_request",
    "gpu_utilisation",
)
_STAGE = (
    "requests",
    "failures",
    "inferences",
    "executions",
    "mean_batch",
    "request_ms",
    "queue_ms",
    "compute_input_ms",
    "compute_infer_ms",
    "compute_output_ms",
)
_PLAIN = ("late_p99_ms", "gpu_memory_bytes", "resident_bytes")
_FORMULA = tuple("=+-@\t\r")


def spreadsheet(sheets: Sequence[Sheet]) -> Iterator[str]:
    """Lines: names of the columns, with their units, then a row for each summary."""
    rows = [_row(one, summary) for one in sheets for summary in one.summaries]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    names = dict.fromkeys(name for row in rows for name in row)
    writer.writerow(map(_harmless, names))
    writer.writerows([_harmless(row.get(name)) for name in names] for row in rows)
    yield text.getvalue()


def _row(one: Sheet, of: Summary) -> dict[str, Any]:
    """Column to value; None is an empty cell: not known."""
    targets = {target.name: target for target in one.record.targets}
    target = targets.get(of.target)
    return {
        "record": one.name,
        "created": one.record.created,
        "machine": one.machine,
        "engine": one.record.engine,
        "target": of.target,
        "server": None if target is None else target.server,
        "model": None if target is None else target.model,
        "profile": None if target is None else target.profile,
        "protocol": of.protocol,
        "loop": of.load.kind,
        "arrivals": of.load.arrivals,
        "callers": of.load.value if of.load.kind == "closed" else None,
        "rate_per_s": of.load.value if of.load.kind == "open" else None,
        "slo_p95_ms": one.record.slo_p95_ms,
        "rounds": of.rounds,
        "unused_cells": len(of.unused),
        "requests": of.requests,
        "served": of.served,
        **{f"{name}_errors": of.errors.get(name, 0) for name in OUTCOMES[1:]},
        **{k: v for name in _ESTIMATES for k, v in _ends(name, getattr(of, name)).items()},
        **{name: getattr(of, name) for name in _PLAIN},
        **{
            f"stage.{stage.model}.{name}": getattr(stage, name)
            for stage in of.stages
            for name in _STAGE
        },
    }


def _ends(name: str, of: Estimate | None) -> dict[str, float | None]:
    if of is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: of.value, f"{name}_low": of.low, f"{name}_high": of.high}


def _harmless(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else None
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown

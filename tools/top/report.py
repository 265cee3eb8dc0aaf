"""The figures of one look, for machines."""

from __future__ import annotations

import json
from typing import Any

from tools.top.view import Row, View


def as_json(view: View) -> str:
    """What is not known is null."""
    return json.dumps(
        {
            "url": view.url,
            "triton": view.version,
            "window_s": view.window_s,
            "metrics_url": view.metrics_url,
            "foreign_metrics_url": view.foreign_metrics_url,
            "has_quantiles": view.has_quantiles,
            "cpu_utilisation": view.cpu_utilisation,
            "gpus": {uuid: vars(gpu) for uuid, gpu in view.gpus.items()},
            "models": [_fields(row) for row in view.rows],
        },
        indent=2,
    )


def _fields(row: Row) -> dict[str, Any]:
    stage, seen = row.stage, row.stage.seen
    return {
        "model": stage.model.name,
        "version": stage.model.version,
        "steps": stage.config.steps,
        "window_s": stage.window_s,
        "reloaded": stage.reloaded,
        "requests_per_s": row.per_s(seen.requests),
        "inferences_per_s": row.per_s(seen.inferences),
        "failures_per_s": row.per_s(seen.failures),
        "failure_reasons": stage.reasons,
        "rejected_per_s": None if row.rejected is None else row.per_s(row.rejected),
        "may_refuse_more": row.refuses,
        "mean_ms": _ms(row.mean_s),
        "quantiles_ms": {str(q): _ms(value_s) for q, value_s in row.quantiles_s.items()},
        "queue_ms": _ms(row.queue_s),
        "queue_share": row.queue_share,
        "mean_batch": row.mean_batch,
        "batch_sizes": row.batches,
        "pending": row.pending,
        "utilisation": stage.utilisation,
    }


def _ms(value_s: float | None) -> float | None:
    return None if value_s is None else 1e3 * value_s

"""Stages out of thin air: what a steady load would leave in the counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tools.doctor.stage import Moment, Stage
from tools.statistics.configuration import Batching, Config, Input, Policy
from tools.statistics.counters import Counters, Model, Size

D0 = Config(max_batch_size=8, inputs=(Input("IN"),), batching=Batching(preferred=(8,)))
"""``dynamic_batching {}``, one instance."""
SAMPLES = 101
WINDOW_S = 10.0


def config(batching: Mapping[str, Any] | None = None, **fields: Any) -> Config:
    """``D0`` with other batching, and other fields."""
    base = D0 if batching is None else replace(D0, batching=Batching(**{**_D0, **batching}))
    return replace(base, **fields)


_D0: dict[str, Any] = {"preferred": (8,)}


def policy(**fields: Any) -> dict[str, Any]:
    """Batching with a default queue policy."""
    return {"policies": (Policy(**fields),)}


def stage(
    settings: Config = D0,
    sizes: Mapping[int, int] | None = None,
    execution_s: float = 0.05,
    queue_s: float = 0.0,
    **fields: Any,
) -> Stage:
    """A load that was the same all the time.

    Args:
        settings: of the model.
        sizes: executions by batch size; requests have one row unless ``rows`` says otherwise.
        execution_s: of each; ``times`` gives it by size.
        queue_s: mean wait of a request.
        fields: ``rows`` of a request, ``failures``, ``cache_hits``, ``times``, ``pending`` of each
            sample, and fields of ``Stage``.
    """
    sizes = {} if sizes is None else sizes
    rows, failures = fields.pop("rows", 1), fields.pop("failures", 0)
    times, pending = fields.pop("times", {}), fields.pop("pending", None)
    inferences = sum(size * count for size, count in sizes.items())
    requests = inferences // rows
    run_s = sum(times.get(n, execution_s) * n / rows * count for n, count in sizes.items())
    whole = Counters(
        requests=requests,
        failures=failures,
        inferences=inferences,
        executions=sum(sizes.values()),
        request_s=requests * queue_s + run_s,
        queue_s=requests * queue_s,
        compute_infer_s=run_s,
        cache_hits=fields.pop("cache_hits", 0),
        sizes={n: Size(count, times.get(n, execution_s) * count) for n, count in sizes.items()},
    )
    moments = tuple(
        Moment(WINDOW_S * n / (SAMPLES - 1), part(whole, n / (SAMPLES - 1)), pending)
        for n in range(SAMPLES)
    )
    name = fields.pop("name", "m")
    return Stage(Model(name, "1"), settings, moments, **fields)


def part(whole: Counters, share: float) -> Counters:
    """What a steady load has left after a share of the window."""
    sizes = whole.sizes or {}
    return Counters(
        requests=int(whole.requests * share),
        failures=int(whole.failures * share),
        inferences=int(whole.inferences * share),
        executions=int(whole.executions * share),
        request_s=whole.request_s * share,
        queue_s=whole.queue_s * share,
        compute_infer_s=whole.compute_infer_s * share,
        cache_hits=int((whole.cache_hits or 0) * share),
        sizes={n: Size(int(o.executions * share), o.busy_s * share) for n, o in sizes.items()},
    )

"""What only Prometheus has: requests that wait, reasons of failures, quantiles, GPUs."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ensemble.errors import ServingError
from tools.statistics.counters import Model
from tools.statistics.http import ask

TIMEOUT_S = 2.0
_SUMMARY = "nv_inference_request_summary_us"
_SAMPLE = re.compile(r"^(nv_\w+)(?:\{(.*)\})?[ \t]+(\S+)", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Labels = Mapping[str, str]
Family = list[tuple[Labels, float]]
"""Samples of one name."""


@dataclass(frozen=True)
class Gpu:
    """One GPU; what the server does not say is None.

    Attributes:
        utilisation: 0 to 1.
        memory_used_bytes: by whomever.
        memory_total_bytes: that it has.
    """

    utilisation: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None


@dataclass(frozen=True)
class Metrics:
    """What only Prometheus has.

    Attributes:
        requests: that succeeded, by model; they tell whose metrics these are.
        pending: requests that wait, by model; always 0 for an ensemble, which has no queue.
        failures: by model and reason, such as ``BACKEND``; old servers name no reason.
        quantiles_s: time of a request by model and quantile, such as 0.95, over the last minute;
            of a model on several GPUs that of the slowest. Empty unless the server was started
            with ``--metrics-config summary_latencies=true`` and had requests in that minute.
        has_quantiles: whether it was started so.
        gpus: by UUID.
        cpu_utilisation: of the whole machine, 0 to 1; None where the server does not say.
    """

    requests: Mapping[Model, int] = field(default_factory=dict)
    pending: Mapping[Model, int] = field(default_factory=dict)
    failures: Mapping[Model, Mapping[str, int]] = field(default_factory=dict)
    quantiles_s: Mapping[Model, Mapping[float, float]] = field(default_factory=dict)
    has_quantiles: bool = False
    gpus: Mapping[str, Gpu] = field(default_factory=dict)
    cpu_utilisation: float | None = None

    @property
    def gpu_utilisation(self) -> float | None:
        """Mean over the GPUs that have one."""
        return mean_of(gpu.utilisation for gpu in self.gpus.values())

    @property
    def gpu_memory_bytes(self) -> int | None:
        """In use, of all GPUs together."""
        used = (gpu.memory_used_bytes for gpu in self.gpus.values())
        known = [one for one in used if one is not None]
        return sum(known) if known else None


def mean_of(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def read_metrics(url: str) -> Metrics | None:
    """Metrics at ``url``; None where nothing of Triton's answers."""
    try:
        answer = ask(url, timeout_s=TIMEOUT_S)
    except ServingError:
        return None
    text = answer.body.decode(errors="replace")
    return metrics_of(text) if answer.status == 200 and "nv_inference_" in text else None


def metrics_of(text: str) -> Metrics:
    """From Prometheus' text; counts of several GPUs add up.

    Source: Triton's documentation of its metrics.
    """
    families = _families(text)
    has_quantiles = _SUMMARY in families
    failures: dict[Model, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for labels, value in families["nv_inference_request_failure"]:
        failures[_model(labels)][labels.get("reason", "")] += int(value)
    return Metrics(
        _sums(families["nv_inference_request_success"]),
        _sums(families["nv_inference_pending_request_count"]),
        {model: dict(reasons) for model, reasons in failures.items()},
        _quantiles_s(families[_SUMMARY]),
        has_quantiles,
        _gpus(families),
        next((value for _, value in families["nv_cpu_utilization"]), None),
    )


def _families(text: str) -> defaultdict[str, Family]:
    """Finite samples by name; a name that has only others is there, and empty."""
    families: defaultdict[str, Family] = defaultdict(list)
    for name, labels, number in _SAMPLE.findall(text):
        family = families[name]
        try:
            value = float(number)
        except ValueError:
            continue
        if math.isfinite(value):  # a quantile of no requests is NaN
            family.append((dict(_LABEL.findall(labels)), value))
    return families


def _model(labels: Labels) -> Model:
    return Model(labels.get("model", ""), labels.get("version", ""))


def _sums(family: Family) -> dict[Model, int]:
    sums: dict[Model, int] = defaultdict(int)
    for labels, value in family:
        sums[_model(labels)] += int(value)
    return dict(sums)


def _quantiles_s(family: Family) -> dict[Model, dict[float, float]]:
    found: dict[Model, dict[float, float]] = {}
    for labels, value in family:
        of_model = found.setdefault(_model(labels), {})
        for quantile in _fractions(labels.get("quantile", "")):
            of_model[quantile] = max(value / 1e6, of_model.get(quantile, 0.0))
    return found


def _fractions(text: str) -> Iterator[float]:
    """The number that a label holds, if it is one from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        return
    if 0 <= number <= 1:
        yield number


def _gpus(families: Mapping[str, Family]) -> dict[str, Gpu]:
    loads, used, total = (
        {labels.get("gpu_uuid", ""): value for labels, value in families.get(name, ())}
        for name in (
            "nv_gpu_utilization",
            "nv_gpu_memory_used_bytes",
            "nv_gpu_memory_total_bytes",
        )
    )
    return {
        uuid: Gpu(loads.get(uuid), _whole(used.get(uuid)), _whole(total.get(uuid)))
        for uuid in sorted(loads | used | total)
    }


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)

"""What a server says at one moment: counters of each model, and the gauges beside them."""

from __future__ import annotations

import contextlib
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ensemble.errors import ModelUnavailable, ServingError
from tools.statistics.http import ask, get_json

_SAMPLE = re.compile(r"^(nv_\w+)\{(.*)\}\s+(\S+)", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_FAMILIES = (
    "nv_inference_request_success",
    "nv_inference_pending_request_count",
    "nv_inference_request_failure",
)


class Model(NamedTuple):
    """One version of one model; each has a queue of its own."""

    name: str
    version: str

    @property
    def path(self) -> str:
        """Of its part of the API."""
        name = urllib.parse.quote(self.name, safe="")
        return f"/v2/models/{name}" + (f"/versions/{self.version}" if self.version else "")


@dataclass(frozen=True)
class Size:
    """Executions of one batch size.

    Attributes:
        executions: how many.
        busy_s: how long they took together: input, inference and output.
    """

    executions: int
    busy_s: float


@dataclass(frozen=True)
class Counters:
    """Of one model, since it was loaded, or between two moments.

    Attributes:
        requests: that succeeded.
        failures: that did not; those that a full queue refuses are in no counter.
        inferences: rows in them.
        executions: of a batch each.
        request_s: from arrival to answer, summed over requests.
        queue_s: of it, waiting.
        compute_input_s: of it, gathering inputs.
        compute_infer_s: of it, in the model.
        compute_output_s: of it, handing out outputs.
        cache_hits: answers that needed no execution; None where the server does not say.
        sizes: executions by batch size; None where the server does not say.
    """

    requests: int = 0
    failures: int = 0
    inferences: int = 0
    executions: int = 0
    request_s: float = 0.0
    queue_s: float = 0.0
    compute_input_s: float = 0.0
    compute_infer_s: float = 0.0
    compute_output_s: float = 0.0
    cache_hits: int | None = None
    sizes: Mapping[int, Size] | None = None

    def since(self, earlier: Counters) -> Counters:
        """What was added after ``earlier``."""
        return Counters(
            self.requests - earlier.requests,
            self.failures - earlier.failures,
            self.inferences - earlier.inferences,
            self.executions - earlier.executions,
            self.request_s - earlier.request_s,
            self.queue_s - earlier.queue_s,
            self.compute_input_s - earlier.compute_input_s,
            self.compute_infer_s - earlier.compute_infer_s,
            self.compute_output_s - earlier.compute_output_s,
            None if self.cache_hits is None else self.cache_hits - (earlier.cache_hits or 0),
            None if self.sizes is None else _added(self.sizes, earlier.sizes or {}),
        )

    def is_before(self, later: Counters) -> bool:
        """Whether ``later`` can follow in one life of the model: counters only grow."""
        mine = (self.requests, self.failures, self.inferences, self.executions)
        others = (later.requests, later.failures, later.inferences, later.executions)
        return all(one <= other for one, other in zip(mine, others, strict=True))


def _added(later: Mapping[int, Size], earlier: Mapping[int, Size]) -> dict[int, Size]:
    none = Size(0, 0.0)
    added = {
        size: Size(
            now.executions - earlier.get(size, none).executions,
            now.busy_s - earlier.get(size, none).busy_s,
        )
        for size, now in later.items()
    }
    return {size: one for size, one in sorted(added.items()) if one.executions > 0}


@dataclass(frozen=True)
class Metrics:
    """What only Prometheus has.

    Attributes:
        requests: that succeeded, by model; they tell whose metrics these are.
        pending: requests that wait, by model.
        failures: by model and reason, such as ``BACKEND``.
    """

    requests: Mapping[Model, int] = field(default_factory=dict)
    pending: Mapping[Model, int] = field(default_factory=dict)
    failures: Mapping[Model, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """Everything at one moment.

    Attributes:
        at_s: when the answer was there, monotonic clock.
        counters: by model.
        metrics: None where there are none.
    """

    at_s: float
    counters: Mapping[Model, Counters]
    metrics: Metrics | None = None


def read_counters(url: str) -> dict[Model, Counters]:
    """Statistics of every loaded model. Source: Triton's statistics extension.

    Raises:
        ServingError: no answer, or not Triton's.
    """
    path = f"{url}/v2/models/stats"
    fields = get_json(path)
    try:
        return {
            Model(str(row["name"]), str(row.get("version", ""))): _counters(row)
            for row in fields["model_stats"]
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelUnavailable(
            f"{path}: expected Triton's statistics, got {fields!s:.80} ({error!r:.80})"
        ) from error


def _counters(row: Mapping[str, Any]) -> Counters:
    stats = row["inference_stats"]
    batches = row.get("batch_stats")
    hits = stats.get("cache_hit")
    return Counters(
        requests=int(stats["success"]["count"]),
        failures=int(stats["fail"]["count"]),
        inferences=int(row["inference_count"]),
        executions=int(row["execution_count"]),
        request_s=_seconds(stats["success"]),
        queue_s=_seconds(stats["queue"]),
        compute_input_s=_seconds(stats["compute_input"]),
        compute_infer_s=_seconds(stats["compute_infer"]),
        compute_output_s=_seconds(stats["compute_output"]),
        cache_hits=None if hits is None else int(hits["count"]),
        sizes=None if batches is None else {int(b["batch_size"]): _size(b) for b in batches},
    )


def _seconds(duration: Mapping[str, Any]) -> float:
    return int(duration["ns"]) / 1e9


def _size(batch: Mapping[str, Any]) -> Size:
    """Of one entry of ``batch_stats``, which counts an execution once, whatever its size."""
    parts = ("compute_input", "compute_infer", "compute_output")
    return Size(int(batch["compute_infer"]["count"]), sum(_seconds(batch[part]) for part in parts))


def read_metrics(url: str) -> Metrics | None:
    """Metrics at ``url``; None where nothing of Triton's answers."""
    try:
        answer = ask(url, timeout_s=2.0)
    except ServingError:
        return None
    text = answer.body.decode(errors="replace")
    return metrics_of(text) if answer.status == 200 and "nv_inference_" in text else None


def metrics_of(text: str) -> Metrics:
    """From Prometheus' text; rows of several GPUs add up."""
    sums: dict[str, dict[Model, dict[str, int]]] = {name: {} for name in _FAMILIES}
    for name, labels, value in _SAMPLE.findall(text):
        with contextlib.suppress(ValueError, OverflowError):  # NaN and infinity are no counts
            if name in sums:
                label, count = dict(_LABEL.findall(labels)), int(float(value))
                model = Model(label.get("model", ""), label.get("version", ""))
                reasons = sums[name].setdefault(model, {})
                reason = label.get("reason", "")
                reasons[reason] = reasons.get(reason, 0) + count
    requests, pending, failures = sums.values()
    return Metrics(
        {model: sum(counts.values()) for model, counts in requests.items()},
        {model: sum(counts.values()) for model, counts in pending.items()},
        failures,
    )


def values_of(text: str, family: str) -> list[float]:
    """Every number of one family of Prometheus' text, such as ``nv_gpu_utilization``."""
    found = []
    for name, _, value in _SAMPLE.findall(text):
        with contextlib.suppress(ValueError):
            if name == family:
                found.append(float(value))
    return found

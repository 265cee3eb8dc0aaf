"""Counters of each model, from the server's statistics."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ensemble.errors import ModelUnavailable
from tools.statistics.http import get_json

_MOST = 2**64
"""Triton's counters have 64 bits."""


class Model(NamedTuple):
    """One version of one model; each has a queue of its own."""

    name: str
    version: str

    @property
    def path(self) -> str:
        """Of its part of the API."""
        name, version = (urllib.parse.quote(one, safe="") for one in self)
        return f"/v2/models/{name}" + (f"/versions/{version}" if version else "")


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
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelUnavailable(
            f"{path}: expected Triton's statistics, got {fields!s:.80} ({error!r:.80})"
        ) from error


def _counters(row: Mapping[str, Any]) -> Counters:
    stats = row["inference_stats"]
    batches = row.get("batch_stats")
    hits = stats.get("cache_hit")
    return Counters(
        requests=_whole(stats["success"]["count"]),
        failures=_whole(stats["fail"]["count"]),
        inferences=_whole(row["inference_count"]),
        executions=_whole(row["execution_count"]),
        request_s=_seconds(stats["success"]),
        queue_s=_seconds(stats["queue"]),
        compute_input_s=_seconds(stats["compute_input"]),
        compute_infer_s=_seconds(stats["compute_infer"]),
        compute_output_s=_seconds(stats["compute_output"]),
        cache_hits=None if hits is None else _whole(hits["count"]),
        sizes=None if batches is None else {_whole(b["batch_size"]): _size(b) for b in batches},
    )


def _seconds(duration: Mapping[str, Any]) -> float:
    return _whole(duration["ns"]) / 1e9


def _whole(value: Any) -> int:
    if not 0 <= float(value) < _MOST:
        raise ValueError(f"expected a counter, got {value!s:.40}")
    return int(value)


def _size(batch: Mapping[str, Any]) -> Size:
    """Of one entry of ``batch_stats``, which counts an execution once, whatever its size."""
    parts = ("compute_input", "compute_infer", "compute_output")
    return Size(
        _whole(batch["compute_infer"]["count"]), sum(_seconds(batch[part]) for part in parts)
    )

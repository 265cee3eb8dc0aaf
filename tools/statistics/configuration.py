"""What of a model's configuration decides how it batches, from the server's own JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ensemble.errors import ModelUnavailable
from tools.statistics.counters import Model
from tools.statistics.http import get_json


@dataclass(frozen=True)
class Input:
    """One input.

    Attributes:
        name: of the tensor.
        datatype: such as ``UINT8``.
        dims: without the batch; -1 is free.
        ragged: ``allow_ragged_batch``.
        optional: may be left out.
        is_shape: a shape tensor, whose values Triton compares as well.
    """

    name: str
    datatype: str = "UINT8"
    dims: tuple[int, ...] = (1,)
    ragged: bool = False
    optional: bool = False
    is_shape: bool = False

    @property
    def keeps_apart(self) -> bool:
        """Whether Triton compares its shape. Source: core backend_model.cc."""
        return self.is_shape or (-1 in self.dims and not self.ragged)


@dataclass(frozen=True)
class Policy:
    """A queue policy.

    Attributes:
        timeout_s: 0 is none.
        allow_override: whether a request may bring a shorter one.
        max_queue_size: requests; 0 is no bound.
        delays: whether a late request is put last rather than refused.
    """

    timeout_s: float = 0.0
    allow_override: bool = False
    max_queue_size: int = 0
    delays: bool = False


@dataclass(frozen=True)
class Batching:
    """``dynamic_batching``, as the server has completed it.

    Attributes:
        preferred: ``preferred_batch_size``; Triton fills in ``max_batch_size`` where it is empty.
        delay_s: ``max_queue_delay_microseconds``.
        priority_levels: 0 is no priorities.
        default_priority_level: for requests that name none.
        policies: the default one first, then those of the levels.
    """

    preferred: tuple[int, ...] = ()
    delay_s: float = 0.0
    priority_levels: int = 0
    default_priority_level: int = 0
    policies: tuple[Policy, ...] = ()

    @property
    def late(self) -> bool:
        """Whether batches are formed only when an instance is free.

        Source: core scheduler_utils.cc: priorities or any field of the default policy.
        """
        first = self.policies[:1]
        return self.priority_levels > 0 or any(
            bool(p.timeout_s or p.allow_override or p.max_queue_size) for p in first
        )


@dataclass(frozen=True)
class Config:
    """A model's configuration.

    Attributes:
        backend: ``python``, ``onnxruntime`` and so on; ``ensemble`` for an ensemble.
        max_batch_size: 0 has no batch dimension.
        instances: that execute; None for an ensemble, and where the server does not say.
        inputs: all of them.
        batching: None is no dynamic batching.
        is_sequence: it has a sequence batcher, which has rules of its own.
        steps: models of an ensemble, in order.
    """

    backend: str = "python"
    max_batch_size: int = 8
    instances: int | None = 1
    inputs: tuple[Input, ...] = ()
    batching: Batching | None = None
    is_sequence: bool = False
    steps: tuple[str, ...] = ()

    @property
    def is_ensemble(self) -> bool:
        """Whether it only passes requests on."""
        return bool(self.steps)

    @property
    def delay_s(self) -> float:
        """That a request waits for others; 0 without dynamic batching."""
        return self.batching.delay_s if self.batching else 0.0


def config_of(fields: Mapping[str, Any]) -> Config:
    """From ``GET v2/models/M/config``; a field that is not there has the proto's default.

    Raises:
        ValueError, TypeError, AttributeError, KeyError, OverflowError: it is not Triton's.
    """
    steps = (fields.get("ensemble_scheduling") or {}).get("step", ())
    batching = fields.get("dynamic_batching")
    groups = fields.get("instance_group") or ()
    return Config(
        backend="ensemble" if steps else str(fields.get("backend") or fields.get("platform", "")),
        max_batch_size=int(fields.get("max_batch_size", 0)),
        instances=sum(map(_instances, groups)) if groups and not steps else None,
        inputs=tuple(map(_input, fields.get("input", ()))),
        batching=None if batching is None else _batching(batching),
        is_sequence="sequence_batching" in fields,
        steps=tuple(str(step["model_name"]) for step in steps),
    )


def _instances(group: Mapping[str, Any]) -> int:
    """``count`` is for each GPU that is listed."""
    if group.get("passive"):
        return 0
    on_gpus = len(group.get("gpus", ())) if group.get("kind") == "KIND_GPU" else 1
    return int(group.get("count", 1)) * max(1, on_gpus)


def _input(fields: Mapping[str, Any]) -> Input:
    return Input(
        name=str(fields["name"]),
        datatype=str(fields.get("data_type", "")).removeprefix("TYPE_").replace("STRING", "BYTES"),
        dims=tuple(int(size) for size in fields.get("dims", ())),
        ragged=bool(fields.get("allow_ragged_batch")),
        optional=bool(fields.get("optional")),
        is_shape=bool(fields.get("is_shape_tensor")),
    )


def _batching(fields: Mapping[str, Any]) -> Batching:
    levels = fields.get("priority_queue_policy") or {}
    policies = [fields.get("default_queue_policy") or {}, *levels.values()]
    return Batching(
        preferred=tuple(int(size) for size in fields.get("preferred_batch_size", ())),
        delay_s=int(fields.get("max_queue_delay_microseconds", 0)) / 1e6,
        priority_levels=int(fields.get("priority_levels", 0)),
        default_priority_level=int(fields.get("default_priority_level", 0)),
        policies=tuple(map(_policy, policies)),
    )


def _policy(fields: Mapping[str, Any]) -> Policy:
    return Policy(
        timeout_s=int(fields.get("default_timeout_microseconds", 0)) / 1e6,
        allow_override=bool(fields.get("allow_timeout_override")),
        max_queue_size=int(fields.get("max_queue_size", 0)),
        delays=fields.get("timeout_action") == "DELAY",
    )


def read_config(url: str, model: Model) -> Config:
    """How the model is set.

    Raises:
        ServingError: no answer, or not Triton's.
    """
    path = f"{url}{model.path}/config"
    fields = get_json(path)
    try:
        return config_of(fields)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelUnavailable(
            f"{path}: expected Triton's model configuration, got {fields!s:.80} ({error!r:.80})"
        ) from error

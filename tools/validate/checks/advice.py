"""What the server accepts although it harms: the lints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.validate.findings import Finding
from tools.validate.polled import Model
from tools.validate.rules import advice as rules
from tools.validate.rules import repository as generated

_RAGGED_TYPES = ("python", "dali")
"""Backends that take requests of unequal shape as a list."""
_ORDER_BROKEN, _ORDER_MENDED = (2, 61), (2, 72)


def check(model: Model) -> Iterator[Finding]:
    """Source: ``dynamic_batch_scheduler.cc`` and ``scheduler_utils.cc`` in Triton's core."""
    config = model.config
    if model.is_ensemble:
        return
    yield from _scheduler(model)
    if config.HasField("dynamic_batching"):
        yield from _policies(model)
        yield from _priorities(model)
        yield from _delay(model)
        yield from _sizes(model)
        yield from _ordering(model)
    yield from _shapes(model)


def _scheduler(model: Model) -> Iterator[Finding]:
    config = model.config
    decoupled = config.model_transaction_policy.decoupled
    alone = not (config.HasField("dynamic_batching") or config.HasField("sequence_batching"))
    elsewhere = model.backend == "dali" or decoupled or _is_completed(model)
    if config.max_batch_size > 1 and alone and not elsewhere:
        yield rules.BATCHING_OFF.at(
            model.place("max_batch_size"),
            f"max_batch_size {config.max_batch_size}: expected dynamic_batching, got none, so "
            "requests are never put together",
        )
    if _is_completed(model) and config.max_batch_size == 0:
        yield generated.BATCH_SIZE_GENERATED.at(
            model.place("max_batch_size", "backend"),
            "max_batch_size: expected a size, got 0 or none: as inputs or outputs are not listed, "
            "a model that could batch gets 4",
        )
    on_cpu = not model.target.has_gpu
    if model.backend == "onnxruntime" and on_cpu and not config.instance_group:
        yield rules.INSTANCES_OMITTED.at(
            model.place("backend"), "expected an instance_group, got none: Triton makes 2 instances"
        )


def _is_completed(model: Model) -> bool:
    """Whether the backend completes how the model batches, dynamic_batching with it.

    Source: AutoCompleteConfig in onnxruntime.cc; it does nothing where both lists are written.
    """
    config = model.config
    listed = (config.input or config.batch_input) and config.output
    return model.backend == "onnxruntime" and not listed


def policies(model: Model) -> Iterator[tuple[str, Any]]:
    """Field and policy, of every queue policy that is written."""
    batching = model.config.dynamic_batching
    if batching.HasField("default_queue_policy"):
        yield "dynamic_batching.default_queue_policy", batching.default_queue_policy
    for level, policy in sorted(batching.priority_queue_policy.items()):
        yield f"{model.entry('dynamic_batching.priority_queue_policy', level)}.value", policy


def _policies(model: Model) -> Iterator[Finding]:
    batching = model.config.dynamic_batching
    delay = batching.max_queue_delay_microseconds
    for field, policy in policies(model):
        timeout = policy.default_timeout_microseconds
        rejects = policy.timeout_action == policy.REJECT
        if rejects and 0 < timeout <= delay:
            yield rules.TIMEOUT_BEFORE_DELAY.at(
                model.place(f"{field}.default_timeout_microseconds", field),
                f"default_timeout_microseconds {timeout}: expected more than "
                f"max_queue_delay_microseconds {delay}",
            )
        if policy.allow_timeout_override and timeout == 0:
            yield rules.OVERRIDE_WITHOUT_TIMEOUT.at(
                model.place(f"{field}.allow_timeout_override", field),
                "allow_timeout_override: expected a default_timeout_microseconds, got none",
            )
    if late_mode(batching):
        yield from _late(model)


def late_mode(batching: Any) -> bool:
    """Whether batches are formed only when an instance is free.

    Source: SU:354-379; only the default policy and priority_levels count.
    """
    policy = batching.default_queue_policy
    written = policy.default_timeout_microseconds or policy.allow_timeout_override
    return bool(batching.priority_levels or written or policy.max_queue_size)


def _late(model: Model) -> Iterator[Finding]:
    batching = model.config.dynamic_batching
    place = model.place("dynamic_batching.default_queue_policy", "dynamic_batching")
    if model.instances == 1:
        why = "priority_levels" if batching.priority_levels else "a queue policy"
        yield rules.LATE_MODE.at(
            place, f"{why} with 1 instance: expected none, or 2 instances and more"
        )
    elif batching.max_queue_delay_microseconds:
        yield rules.LATE_MODE_DRIFT.at(
            place,
            f"a queue policy with {model.instances} instances: expected no "
            f"max_queue_delay_microseconds, got {batching.max_queue_delay_microseconds}",
        )


def _priorities(model: Model) -> Iterator[Finding]:
    batching = model.config.dynamic_batching
    levels = batching.priority_levels
    if levels == 0:
        for field in ("default_priority_level", "priority_queue_policy"):
            if getattr(batching, field):
                yield rules.PRIORITIES_OFF.at(
                    model.place(f"dynamic_batching.{field}", f"dynamic_batching.{field}[0]"),
                    f"{field}: expected priority_levels above 0, got 0",
                )
        return
    default = batching.default_queue_policy
    for level in range(2, min(levels, 64) + 1):
        policy = default
        if level in batching.priority_queue_policy:
            policy = batching.priority_queue_policy[level]
        if not policy.default_timeout_microseconds and not policy.max_queue_size:
            yield rules.STARVATION.at(
                model.place("dynamic_batching.priority_levels"),
                f"level {level}: expected a default_timeout_microseconds or a max_queue_size, "
                "got neither",
            )
            return


def _delay(model: Model) -> Iterator[Finding]:
    config = model.config
    delay = config.dynamic_batching.max_queue_delay_microseconds
    if not delay:
        return
    place = model.place("dynamic_batching.max_queue_delay_microseconds")
    if config.max_batch_size < 2:
        yield rules.DELAY_WITHOUT_BATCHING.at(
            place,
            f"max_queue_delay_microseconds {delay}: expected max_batch_size above 1, "
            f"got {config.max_batch_size}",
        )
    elif not any(map(_is_apart, config.input)) and not late_mode(config.dynamic_batching):
        yield rules.DELAY_UNDERFILLS.at(
            place,
            f"max_queue_delay_microseconds {delay}: expected none, or longer than one execution",
        )


def _sizes(model: Model) -> Iterator[Finding]:
    batching = model.config.dynamic_batching
    sizes = list(batching.preferred_batch_size)
    if not sizes:
        return
    place = model.place("dynamic_batching.preferred_batch_size[0]")
    largest = model.config.max_batch_size
    delay = batching.max_queue_delay_microseconds
    if delay and 0 < max(sizes) < largest:
        yield rules.PREFERRED_BELOW_MAX.at(
            place,
            f"preferred_batch_size {sizes} with a delay of {delay} microseconds: expected "
            f"max_batch_size {largest} among them, or no delay",
        )
    if delay and model.backend != "tensorrt":
        yield rules.PREFERRED_WITHOUT_PROFILES.at(
            place,
            f"preferred_batch_size {sizes} on backend {model.backend}: expected none, or a "
            "TensorRT model with optimisation profiles",
        )


def _ordering(model: Model) -> Iterator[Finding]:
    if not model.config.dynamic_batching.preserve_ordering:
        return
    if _ORDER_BROKEN <= model.target.server < _ORDER_MENDED:
        yield rules.ORDERING_BROKEN.at(
            model.place("dynamic_batching.preserve_ordering"),
            f"preserve_ordering: expected Triton before 2.61 or from 2.72, got {model.target}",
        )


def _is_apart(tensor: Any) -> bool:
    """Whether requests must have one shape of this input to be batched."""
    return -1 in tensor.dims and not tensor.allow_ragged_batch


def _shapes(model: Model) -> Iterator[Finding]:
    if not model.batches or model.backend == "dali":  # DALI sets the flag itself
        return
    advice = "allow_ragged_batch: true" if model.backend in _RAGGED_TYPES else "fixed dims"
    for n, tensor in enumerate(model.config.input):
        if _is_apart(tensor):
            yield rules.SHAPES_APART.at(
                model.place(f"input[{n}].dims", f"input[{n}]"),
                f"input {tensor.name}: expected {advice}, got dims {list(tensor.dims)} without "
                "allow_ragged_batch",
            )

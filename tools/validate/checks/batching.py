"""Batch sizes, priorities and queue policies that the server refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.validate.findings import Finding
from tools.validate.polled import Model
from tools.validate.rules import configuration as rules

DELAY = 1
"""``ModelQueuePolicy.DELAY``."""


def check(model: Model) -> Iterator[Finding]:
    """Source: ValidateModelConfig in Triton's model_config_utils.cc."""
    config = model.config
    if config.max_batch_size < 0:
        yield rules.MAX_BATCH_SIZE_NEGATIVE.at(
            model.place("max_batch_size"),
            f"max_batch_size: expected 0 or more, got {config.max_batch_size}",
        )
    if config.HasField("dynamic_batching"):
        yield from _preferred(
            model,
            config.dynamic_batching.preferred_batch_size,
            "dynamic_batching.preferred_batch_size",
            (rules.PREFERRED_NOT_POSITIVE, rules.PREFERRED_ABOVE_MAX),
        )
        yield from _priorities(model)
        yield from _ordering(model)
    yield from _cache(model)


def preferred_of_oldest(model: Model) -> Iterator[Finding]:
    """The same for the sequence batcher's oldest strategy."""
    yield from _preferred(
        model,
        model.config.sequence_batching.oldest.preferred_batch_size,
        "sequence_batching.oldest.preferred_batch_size",
        (rules.OLDEST_NOT_POSITIVE, rules.OLDEST_ABOVE_MAX),
    )


def _preferred(model: Model, sizes: Any, field: str, pair: tuple[Any, Any]) -> Iterator[Finding]:
    not_positive, above = pair
    largest = model.config.max_batch_size
    for n, size in enumerate(sizes):
        place = model.place(f"{field}[{n}]")
        if size <= 0:
            yield not_positive.at(place, f"{field}: expected 1 to {largest}, got {size}")
        elif size > largest:
            yield above.at(place, f"{field}: expected 1 to max_batch_size {largest}, got {size}")


def _priorities(model: Model) -> Iterator[Finding]:
    batching = model.config.dynamic_batching
    levels = batching.priority_levels
    if levels == 0:
        return
    if not 1 <= batching.default_priority_level <= levels:
        got = batching.default_priority_level or "none"
        yield rules.DEFAULT_PRIORITY.at(
            model.place(
                "dynamic_batching.default_priority_level", "dynamic_batching.priority_levels"
            ),
            f"default_priority_level: expected 1 to priority_levels {levels}, got {got}",
        )
    for key in sorted(batching.priority_queue_policy):
        if not 1 <= key <= levels:
            yield rules.PRIORITY_KEY.at(
                model.place(model.entry("dynamic_batching.priority_queue_policy", key)),
                f"priority_queue_policy: expected a key of 1 to priority_levels {levels}, "
                f"got {key}",
            )


def _ordering(model: Model) -> Iterator[Finding]:
    batching = model.config.dynamic_batching
    if not batching.preserve_ordering:
        return
    place = model.place("dynamic_batching.preserve_ordering")
    if batching.priority_levels > 1:
        yield rules.ORDERING_WITH_PRIORITIES.at(
            place,
            "preserve_ordering: expected at most one priority level, "
            f"got priority_levels {batching.priority_levels}",
        )
    policies = {"default_queue_policy": batching.default_queue_policy}
    for level, policy in batching.priority_queue_policy.items():
        policies[f"priority_queue_policy {level}"] = policy
    for name, policy in policies.items():
        if policy.timeout_action == DELAY and policy.default_timeout_microseconds:
            yield rules.ORDERING_WITH_DELAY.at(
                place,
                f"preserve_ordering: expected timeout_action REJECT in {name}, got DELAY with "
                f"default_timeout_microseconds {policy.default_timeout_microseconds}",
            )


def _cache(model: Model) -> Iterator[Finding]:
    config = model.config
    if not config.response_cache.enable:
        return
    place = model.place("response_cache")
    if config.HasField("sequence_batching"):
        yield rules.CACHE_WITH_SEQUENCES.at(
            place, "expected response_cache or sequence_batching, got both"
        )
    if config.model_transaction_policy.decoupled:
        yield rules.CACHE_WITH_DECOUPLED.at(
            place, "expected response_cache or a decoupled model, got both"
        )

"""What the server accepts in an ensemble although it harms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tools.validate.checks.advice import policies
from tools.validate.findings import Finding
from tools.validate.polled import Model
from tools.validate.rules import ensemble as rules


def check(model: Model, others: Mapping[str, Model]) -> Iterator[Finding]:
    """Source: Triton's ensemble_scheduler.cc; sections 2 and 4 of docs/validate.md."""
    if not model.is_ensemble:
        return
    names = dict.fromkeys(step.model_name for step in model.config.ensemble_scheduling.step)
    stages = [others[name] for name in names if name in others]
    yield from _batching(model, stages)
    yield from _priorities(model, stages)
    yield from _timeouts(model, stages)


def _batching(model: Model, stages: list[Model]) -> Iterator[Finding]:
    batching = [stage.name for stage in stages if stage.batches]
    place = model.place("max_batch_size", "ensemble_scheduling")
    if batching and model.config.max_batch_size == 0:
        yield rules.NOT_BATCHING_ENSEMBLE.at(
            place, f"max_batch_size: expected as in {', '.join(batching)}, got 0"
        )
    for stage in stages:
        if batching and not stage.batches and stage.backend != "dali" and not stage.is_ensemble:
            yield rules.STAGE_NOT_BATCHING.at(
                stage.place("dynamic_batching", "max_batch_size"),
                f"{stage.name}: expected max_batch_size above 1 and dynamic_batching, as in "
                f"{', '.join(batching)}",
            )


def _priorities(model: Model, stages: list[Model]) -> Iterator[Finding]:
    levels = {
        stage.name: stage.config.dynamic_batching.priority_levels
        for stage in stages
        if not stage.is_ensemble
    }
    most = max(levels.values(), default=0)
    for stage in stages:
        if most and levels.get(stage.name, most) != most:
            yield rules.PRIORITY_UNDONE.at(
                stage.place("dynamic_batching.priority_levels", "dynamic_batching"),
                f"{stage.name} in {model.name}: expected priority_levels {most}, "
                f"got {levels[stage.name]} ({_listed(levels)})",
            )


def _listed(levels: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in levels.items())


def _timeouts(model: Model, stages: list[Model]) -> Iterator[Finding]:
    longest = {}
    for stage in stages:
        times = [policy.default_timeout_microseconds for _, policy in policies(stage)]
        if max(times, default=0):
            longest[stage.name] = max(times)
    total_ms, slo_p95_ms = sum(longest.values()) / 1e3, model.target.slo_p95_ms
    too_long = len(longest) > 1 if slo_p95_ms is None else total_ms > slo_p95_ms
    if too_long:
        each = ", ".join(f"{name} {time / 1e3:g} ms" for name, time in longest.items())
        objective = "" if slo_p95_ms is None else f"; expected at most the p95 of {slo_p95_ms:g} ms"
        yield rules.TIMEOUT_RESTARTS.at(
            model.place("ensemble_scheduling"),
            f"queue timeouts of {each}: a request may queue for {total_ms:g} ms in all, besides "
            f"its executions{objective}",
        )

"""Do the models of an ensemble fit together?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.validate.checks.names import type_name
from tools.validate.findings import Finding
from tools.validate.polled import Model
from tools.validate.rules import ensemble as rules

LATEST = -1
"""What model_version says for the newest version that is served."""
_STEP = "ensemble_scheduling.step[{}]"


@dataclass(frozen=True)
class Tensor:
    """One end of a wire: who writes or reads it, with what type and dims."""

    owner: str
    data_type: int
    dims: tuple[int, ...]
    batches: bool

    @property
    def full(self) -> tuple[int, ...]:
        """The dims with the batch axis, if there is one."""
        return (-1, *self.dims) if self.batches else self.dims

    def __str__(self) -> str:
        """As messages quote it."""
        return f"{type_name(self.data_type)} {list(self.dims)} of {self.owner}"


def check(model: Model, others: Mapping[str, Model]) -> Iterator[Finding]:
    """Source: ValidateEnsembleSchedulingConfig and ensemble_utils.cc in Triton's core.

    Args:
        model: an ensemble; of any other nothing is said.
        others: the readable models of its repository, by name; empty where there is none.
    """
    if not model.is_ensemble:
        return
    yield from _own_settings(model)
    yield from _steps(model)
    yield from _wires(model)
    if others:
        yield from _circle(model, others)
        yield from _members(model, others)


def _circle(model: Model, others: Mapping[str, Model]) -> Iterator[Finding]:
    """Whether an ensemble contains itself, through others that it contains."""
    ahead, seen = [model.name], set[str]()
    while ahead:
        one = others.get(ahead.pop())
        steps = one.config.ensemble_scheduling.step if one is not None else ()
        for name in {step.model_name for step in steps} - seen:
            seen.add(name)
            ahead.append(name)
    if model.name in seen:
        yield rules.CIRCLE.at(
            model.place("ensemble_scheduling"), f"{model.name}: expected members without itself"
        )


def _own_settings(model: Model) -> Iterator[Finding]:
    config = model.config
    for field, rule in (
        ("instance_group", rules.OWN_INSTANCES),
        ("model_warmup", rules.OWN_WARMUP),
    ):
        if getattr(config, field):
            yield rule.at(model.place(f"{field}[0]"), f"expected no {field} of an ensemble")
    if config.HasField("optimization"):
        yield rules.OWN_OPTIMIZATION.at(
            model.place("optimization"), "expected no optimization of an ensemble"
        )
    if not config.ensemble_scheduling.step:
        yield rules.NO_STEP.at(model.place("ensemble_scheduling"), "expected a step, got none")


def _steps(model: Model) -> Iterator[Finding]:
    for n, step in enumerate(model.config.ensemble_scheduling.step):
        for field in ("model_name", "input_map", "output_map"):
            if not getattr(step, field):
                yield rules.STEP_INCOMPLETE.at(
                    model.place(_STEP.format(n)),
                    f"step {n + 1}, {step.model_name or 'no model'}: expected {field}, got none",
                )


def _wires(model: Model) -> Iterator[Finding]:
    """What is written and what is read, by the names of the ensemble's tensors."""
    config = model.config
    inputs = [tensor.name for tensor in config.input]
    written = dict.fromkeys(inputs, "the ensemble's input")
    read: dict[str, str] = {}
    for n, step in enumerate(config.ensemble_scheduling.step):
        for name in step.output_map.values():
            if name in written:
                yield rules.WRITTEN_TWICE.at(
                    model.place(_STEP.format(n)),
                    f"tensor {name}: written by {written[name]} and by {step.model_name}",
                )
            written.setdefault(name, step.model_name)
        read.update((name, step.model_name) for name in step.input_map.values())
    yield from _never_written(model, written, read)
    for n, name in enumerate(inputs):
        if name not in read:
            yield rules.INPUT_UNUSED.at(
                model.place(f"input[{n}]"),
                f"input {name}: expected a step that takes it, the steps take "
                f"{', '.join(sorted(read)) or 'nothing'}",
            )
    outputs = {tensor.name for tensor in config.output}
    for name in sorted(written.keys() - read.keys() - outputs - set(inputs)):
        yield rules.TENSOR_UNREAD.at(
            model.place("ensemble_scheduling"),
            f"tensor {name}: written by {written[name]}, expected a step or output that takes it",
        )


def _never_written(
    model: Model, written: Mapping[str, str], read: Mapping[str, str]
) -> Iterator[Finding]:
    reachable = _reachable(model.config)
    for name, reader in read.items():
        if name not in reachable:
            yield rules.OUTPUT_NOT_PRODUCED.at(
                _reads(model, name), _never(name, reader, written, reachable)
            )
    for n, tensor in enumerate(model.config.output):
        if tensor.name not in reachable and tensor.name not in read:
            yield rules.OUTPUT_NOT_PRODUCED.at(
                model.place(f"output[{n}]"),
                _never(tensor.name, "the ensemble's output", written, reachable),
            )


def _reads(model: Model, name: str) -> Any:
    for n, step in enumerate(model.config.ensemble_scheduling.step):
        if name in step.input_map.values():
            return model.place(_STEP.format(n))
    return model.place("ensemble_scheduling")


def _never(name: str, reader: str, written: Mapping[str, str], reachable: set[str]) -> str:
    if name in written:
        return f"tensor {name} of {reader}: {written[name]} waits for it in a circle"
    known = ", ".join(sorted(reachable)) or "nothing"
    return f"tensor {name} of {reader}: expected one that is written ({known})"


def _reachable(config: Any) -> set[str]:
    """The tensors that exist once every step has run that can."""
    ready = {tensor.name for tensor in config.input}
    waiting = list(config.ensemble_scheduling.step)
    while True:
        able = [step for step in waiting if set(step.input_map.values()) <= ready]
        if not able:
            return ready
        waiting = [step for step in waiting if step not in able]
        for step in able:
            ready |= set(step.output_map.values())


def _members(model: Model, others: Mapping[str, Model]) -> Iterator[Finding]:
    writers = {t.name: _end(model, t, "the ensemble's input") for t in model.config.input}
    origins: dict[str, str] = {}
    for n, step in _ordered(model.config):
        place = model.place(_STEP.format(n))
        if not step.model_name:
            continue
        member = others.get(step.model_name)
        if member is None:
            known = ", ".join(sorted(others.keys() - {model.name}))
            yield rules.MEMBER_MISSING.at(
                place, f"step {n + 1}: expected one of {known}, got {step.model_name}"
            )
            continue
        for rule, message in (
            *_member(model, step, member),
            *_names(step, member),
            *_types(step, member, writers),
            *_origins(step, member, origins),
        ):
            yield rule.at(place, f"step {n + 1}, {step.model_name}: {message}")
    for n, tensor in enumerate(model.config.output):
        if tensor.name in writers:
            end = _end(model, tensor, "the ensemble's output")
            for rule, message in _differ(writers[tensor.name], end):
                yield rule.at(model.place(f"output[{n}]"), f"output {tensor.name}: {message}")


def _ordered(config: Any) -> list[tuple[int, Any]]:
    """The steps with their numbers, those that write before those that read."""
    ready = {tensor.name for tensor in config.input}
    waiting = list(enumerate(config.ensemble_scheduling.step))
    ordered: list[tuple[int, Any]] = []
    while waiting:
        able = [item for item in waiting if set(item[1].input_map.values()) <= ready]
        able = able or waiting
        ordered += able
        waiting = [item for item in waiting if item not in able]
        for _, step in able:
            ready |= set(step.output_map.values())
    return ordered


def _end(model: Model, tensor: Any, owner: str) -> Tensor:
    batches = model.config.max_batch_size > 0
    return Tensor(owner, tensor.data_type, tuple(tensor.dims), batches)


_Fault = tuple[Any, str]


def _member(model: Model, step: Any, member: Model) -> Iterator[_Fault]:
    ours, theirs = model.config.max_batch_size, member.config.max_batch_size
    if theirs and theirs < ours:
        yield (
            rules.BATCH_ABOVE_MEMBER,
            f"max_batch_size {theirs}: expected at least the ensemble's {ours}",
        )
    versions = [int(path.name) for path in member.served]
    if member.directory and step.model_version != LATEST and step.model_version not in versions:
        served = ", ".join(map(str, versions))
        yield (
            rules.MEMBER_MISSING,
            f"model_version: expected -1, the latest, or a served one ({served}), "
            f"got {step.model_version}",
        )


def _names(step: Any, member: Model) -> Iterator[_Fault]:
    config = member.config
    for group, mapped in (("input", step.input_map), ("output", step.output_map)):
        known = [tensor.name for tensor in getattr(config, group)]
        for name in mapped:
            if (known or _is_complete(member)) and name not in known:
                yield (
                    rules.NO_SUCH_TENSOR,
                    f"{group}_map: expected a key of {', '.join(known) or 'none'}, got {name}",
                )
    for tensor in config.input:
        if tensor.name not in step.input_map and not tensor.optional:
            yield (
                rules.INPUT_UNMAPPED,
                f"input_map: expected {tensor.name}, got {', '.join(step.input_map) or 'none'}",
            )
    if not (config.input and config.output) and not _is_complete(member):
        yield rules.MEMBER_UNREAD, "its inputs or outputs are not in its config.pbtxt"


def _is_complete(member: Model) -> bool:
    """Whether nothing is added to the configuration when the model loads."""
    if member.backend != "python":
        return False
    paths = [folder / member.filename for folder in member.served]
    return bool(paths) and all(
        path.is_file() and b"auto_complete_config" not in path.read_bytes() for path in paths
    )


def _types(step: Any, member: Model, writers: dict[str, Tensor]) -> Iterator[_Fault]:
    for tensor in member.config.input:
        name = step.input_map.get(tensor.name)
        if name in writers:
            end = _end(member, tensor, f"{member.name}'s {tensor.name}")
            for rule, message in _differ(writers[name], end):
                yield rule, f"tensor {name}: {message}"
    for tensor in member.config.output:
        name = step.output_map.get(tensor.name)
        if name:
            end = _end(member, tensor, f"{member.name}'s {tensor.name}")
            writers.setdefault(name, end)


def _differ(writer: Tensor, reader: Tensor) -> Iterator[_Fault]:
    if writer.data_type != reader.data_type:
        yield rules.TYPES_DIFFER, f"expected {writer}, got {reader}"
    elif not (_alike(writer.dims, reader.dims) or _alike(writer.full, reader.full)):
        yield rules.SHAPES_DIFFER, f"expected {writer}, got {reader}"


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    same = len(one) == len(other)
    return same and all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=True))


def _origins(step: Any, member: Model, origins: dict[str, str]) -> Iterator[_Fault]:
    """Which decoupled model each tensor stems from; one step may take from one only."""
    sources = {origins.get(name, "") for name in step.input_map.values()}
    if len(sources) > 1:
        named = " and ".join(source or "no decoupled model" for source in sorted(sources))
        yield rules.DECOUPLED_ORIGINS, f"expected inputs of one origin, got {named}"
    decoupled = member.config.model_transaction_policy.decoupled
    origin = member.name if decoupled else next(iter(sorted(sources, reverse=True)), "")
    for name in step.output_map.values():
        origins[name] = origin

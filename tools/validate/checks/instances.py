"""Where a model's instances run, and on which backend."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.validate.checks.names import name_of
from tools.validate.findings import Finding, Place
from tools.validate.polled import PLATFORM_OF, Model
from tools.validate.rules import advice
from tools.validate.rules import configuration as rules

# A platform is compared with the backend only for these.
_STRATEGY = "TRITON_BATCH_STRATEGY_PATH"
_ACCELERATORS = {
    "gpu_execution_accelerator": ("tensorrt", "cuda"),
    "cpu_execution_accelerator": ("openvino",),
}
_TYPED = {"tensorrt": "tensorrt_plan", "onnxruntime": "onnxruntime_onnx"}


def check(model: Model) -> Iterator[Finding]:
    """Source: ValidateModelConfig and ValidateInstanceGroup in Triton's model_config_utils.cc."""
    yield from _backend(model)
    yield from _agents(model)
    if model.is_ensemble or model.config.platform == "ensemble":
        return
    for n, group in enumerate(model.config.instance_group):
        yield from _group(model, f"instance_group[{n}]", group)
    yield from _resources(model)
    yield from _metrics(model)
    yield from _strategy(model)
    yield from _accelerators(model)
    yield from _runtime(model)


def _runtime(model: Model) -> Iterator[Finding]:
    runtime, own = model.config.runtime, f"libtriton_{model.backend}.so"
    if runtime in ("", own):
        return
    if runtime == "model.py" and model.backend != "python":  # a backend written in Python
        return
    if not any(is_library(folder / runtime) for folder in model.folders):
        yield rules.RUNTIME.at(
            model.place("runtime"),
            f"runtime: expected {own} or a library beside the model, got {runtime}",
        )


def is_library(path: Path) -> bool:
    """Whether the loader could take a file: it begins as shared libraries do."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _strategy(model: Model) -> Iterator[Finding]:
    """Source: BM:186-232 in Triton's core: the parameter first, then the files."""
    place = model.place("parameters")
    named = model.config.parameters.get(_STRATEGY)
    if named is not None and model.config.HasField("sequence_batching"):
        yield rules.BATCH_STRATEGY.at(
            place, f"{_STRATEGY}: expected no sequence_batching beside it, got both"
        )
    elif named is not None and not is_library(Path(named.string_value or "/")):
        yield rules.BATCH_STRATEGY.at(
            place, f"{_STRATEGY}: expected a shared library, got {named.string_value!r}"
        )
    elif named is None and not model.config.HasField("sequence_batching"):
        for folder in model.folders:
            path = folder / "batchstrategy.so"
            if path.exists() and not is_library(path):
                yield rules.BATCH_STRATEGY.at(Place(path), "expected a shared library")


def _accelerators(model: Model) -> Iterator[Finding]:
    if model.backend != "onnxruntime":
        return
    accelerators = model.config.optimization.execution_accelerators
    for field, known in _ACCELERATORS.items():
        for n, accelerator in enumerate(getattr(accelerators, field)):
            if accelerator.name not in known:
                yield advice.ACCELERATOR.at(
                    model.place(f"optimization.execution_accelerators.{field}[{n}].name"),
                    f"{field}: expected {' or '.join(known)}, got {accelerator.name!r}",
                )


def _resources(model: Model) -> Iterator[Finding]:
    ways: dict[str, bool] = {}
    for n, group in enumerate(model.config.instance_group):
        for resource in group.rate_limiter.resources:
            is_global = bool(getattr(resource, "global"))
            if ways.setdefault(resource.name, is_global) != is_global:
                yield advice.RESOURCE_BOTH_WAYS.at(
                    model.place(f"instance_group[{n}].rate_limiter"),
                    f"resource {resource.name}: expected it global everywhere or nowhere, got both",
                )


def _metrics(model: Model) -> Iterator[Finding]:
    """Source: ValidateModelMetrics in Triton's model_config_utils.cc."""
    for n, control in enumerate(model.config.model_metrics.metric_control):
        place = model.place(f"model_metrics.metric_control[{n}]")
        if not control.metric_identifier.family:
            yield rules.MODEL_METRICS.at(place, "metric_control: expected a family, got none")
        if not control.histogram_options.buckets:
            yield rules.MODEL_METRICS.at(place, "metric_control: expected buckets, got none")


def _agents(model: Model) -> Iterator[Finding]:
    if not model.config.HasField("model_repository_agents"):
        return
    agents = model.config.model_repository_agents.agents
    if not agents:  # a live 2.51 dies of it
        yield rules.AGENT.at(
            model.place("model_repository_agents"), "model_repository_agents: expected agents"
        )
    for n, agent in enumerate(agents):
        if agent.name not in model.target.agents:
            known = ", ".join(model.target.agents) or "none"
            yield rules.AGENT.at(
                model.place(f"model_repository_agents.agents[{n}].name"),
                f"model_repository_agents: expected {known}, got {agent.name!r}",
            )


def _backend(model: Model) -> Iterator[Finding]:
    config, backend = model.config, model.backend
    place = model.place("backend", "platform")
    if config.platform == "ensemble":
        if config.backend:
            yield rules.BACKEND_OF_ENSEMBLE.at(
                place, f"expected no backend of an ensemble, got {config.backend}"
            )
        if not model.is_ensemble:
            yield rules.ENSEMBLE_PLATFORM.at(
                model.place("platform"), "platform ensemble: expected ensemble_scheduling"
            )
        return
    if model.is_ensemble:
        got = f"backend {config.backend}" if config.backend else f"platform {config.platform!r}"
        yield rules.ENSEMBLE_PLATFORM.at(
            model.place("ensemble_scheduling"), f'expected platform: "ensemble", got {got}'
        )
        return
    if not backend:
        yield from _no_backend(model)
        return
    if config.platform and backend in _TYPED and config.platform != _TYPED[backend]:
        yield rules.PLATFORM_MISMATCH.at(
            model.place("platform"),
            f"expected platform {_TYPED[backend]} of backend {backend}, got {config.platform}",
        )
    yield from _library(model)


def _library(model: Model) -> Iterator[Finding]:
    backend, known = model.backend, sorted(model.target.backends)
    own = f"libtriton_{backend}.so"
    if backend in known or any(is_library(folder / own) for folder in model.folders):
        return
    near = difflib.get_close_matches(backend, known, n=1)
    sure = near or model.target.name == "cpu"
    rule = rules.NO_BACKEND if sure else advice.BACKEND_UNKNOWN
    yield rule.at(
        model.place("backend", "platform"),
        f"expected a backend of {model.target} ({', '.join(near or known)}), got {backend}",
    )


def _no_backend(model: Model) -> Iterator[Finding]:
    platform = model.config.platform
    if platform:
        known = ", ".join(sorted(PLATFORM_OF))
        yield rules.PLATFORM_MISMATCH.at(
            model.place("platform"), f"platform: expected one of {known}, got {platform}"
        )
    elif model.first_folder is not None:
        yield rules.BACKEND_MISSING.at(
            model.place(),
            f"{model.name}: expected a backend, or its file in {model.first_folder.name}, the "
            "first subfolder by name",
        )
    else:
        yield rules.BACKEND_MISSING.at(model.place(), f"{model.name}: expected a backend")


def _group(model: Model, where: str, group: Any) -> Iterator[Finding]:
    kind = name_of(group.Kind, group.kind)
    if group.kind not in group.Kind.values():
        yield rules.UNNAMED_NUMBER.at(
            model.place(f"{where}.kind"), f"kind: expected KIND_CPU or KIND_GPU, got {kind}"
        )
    if model.backend == "tensorrt" and kind in ("KIND_CPU", "KIND_MODEL"):
        yield rules.TENSORRT_ON_A_CPU.at(
            model.place(f"{where}.kind"), f"kind: expected KIND_GPU, got {kind}"
        )
    gpus = list(group.gpus)
    place = model.place(f"{where}.gpus", where)
    if kind == "KIND_AUTO" and not model.target.has_gpu:
        kind = "KIND_CPU"
    if kind in ("KIND_CPU", "KIND_MODEL") and gpus:
        yield rules.KIND_WITH_GPUS.at(place, f"{kind}: expected no gpus, got {gpus}")
    if kind == "KIND_GPU" and not model.target.has_gpu:
        yield rules.NO_GPU.at(
            model.place(f"{where}.kind", where),
            f"instance_group: expected KIND_CPU or KIND_AUTO on {model.target}, got KIND_GPU",
        )
    elif kind == "KIND_GPU" and min(gpus, default=0) < 0:
        yield rules.NO_GPU.at(place, f"gpus: expected numbers of 0 or more, got {gpus}")
    profiles = list(group.profile)
    if profiles and (model.backend != "tensorrt" or not all(p.isdecimal() for p in profiles)):
        yield rules.PROFILE.at(
            model.place(f"{where}.profile[0]", where),
            f"profile: expected numbers of 0 or more on backend tensorrt, got {profiles} on "
            f"{model.backend}",
        )

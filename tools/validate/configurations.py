"""From a repository, or a configuration on its own, to its models and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tritonclient.grpc.model_config_pb2 import ModelConfig

from ensemble.errors import ContractMismatch
from tools.validate.checks import (
    advice,
    batching,
    ensemble,
    instances,
    lints_of_ensembles,
    repository,
    sequences,
    tensors,
    warmup,
)
from tools.validate.checks.syntax import read_configuration
from tools.validate.findings import Finding, Place
from tools.validate.polled import Model
from tools.validate.rules import repository as rules
from tools.validate.source import Source
from tools.validate.target import Target

_CHECKS: tuple[Callable[[Model], Iterator[Finding]], ...] = (
    instances.check,
    batching.check,
    sequences.check,
    tensors.check,
    warmup.check,
    repository.check,
    advice.check,
)


def read_repository(
    directory: Path, target: Target, profile: str = ""
) -> tuple[dict[str, Model], list[Finding]]:
    """The models by name, and what is wrong with the text of their configurations.

    Args:
        directory: the repository.
        target: the server that is to load it.
        profile: Triton's ``--model-config-name``: ``configs/<profile>.pbtxt`` counts where it is.

    Raises:
        ContractMismatch: there is no such folder.
    """
    if not directory.is_dir():
        raise ContractMismatch(f"--repository: expected a folder, got {directory}")
    models: dict[str, Model] = {}
    findings: list[Finding] = []
    for folder in sorted(directory.iterdir()):
        if not folder.is_dir() or folder.name.startswith("."):
            continue
        try:
            model, said = _read_model(folder, target, profile)
        except OSError as error:
            findings.append(rules.NOT_READABLE.at(Place(folder), str(error)))
            continue
        findings += said
        if model is not None:
            models[folder.name] = model
    if not models and not findings:
        findings.append(
            rules.NO_MODEL.at(Place(directory), "expected a folder a model, got no folder")
        )
    return models, findings


def _read_model(folder: Path, target: Target, profile: str) -> tuple[Model | None, list[Finding]]:
    path = folder / "configs" / f"{profile}.pbtxt"
    if not profile or not path.is_file():
        path = folder / "config.pbtxt"
    if path.exists() and not path.is_file():
        raise OSError(f"{path}: expected a file")
    if path.exists():
        source, findings = read_configuration(path, target)
    else:
        source, findings = Source(path, ModelConfig()), []
        message = f"{folder.name}: expected config.pbtxt, got none"
        findings.append(rules.CONFIG_GENERATED.at(Place(folder), message))
    if source.config is None:
        return None, findings
    return Model(folder.name, source, target, folder), findings


def read_file(path: Path, target: Target) -> tuple[dict[str, Model], list[Finding]]:
    """One configuration on its own; an empty dictionary where it can't be followed.

    Raises:
        ContractMismatch: there is no such file.
    """
    if not path.is_file():
        raise ContractMismatch(f"--config: expected a file, got {path}")
    source, findings = read_configuration(path, target)
    if source.config is None:
        return {}, findings
    name = source.config.name or path.stem
    return {name: Model(name, source, target)}, findings


def check_models(models: Mapping[str, Model], together: bool = True) -> Iterator[Finding]:
    """Every check of every model.

    Args:
        models: by name.
        together: they are a repository, so that the members of an ensemble are among them.
    """
    for model in models.values():
        for check in _CHECKS:
            yield from check(model)
        yield from ensemble.check(model, models if together else {})
        yield from lints_of_ensembles.check(model, models if together else {})

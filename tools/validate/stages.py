"""The stages of a repository in this process: the objects that its ``model.py`` files build."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from google.protobuf import json_format

from ensemble import pbtxt
from ensemble.errors import ContractMismatch, ServingError
from ensemble.transform import Transform
from tools.validate.batch_axis import RowsDiffer

Array = np.ndarray[Any, Any]
Rows = dict[str, Array]
Stage = Callable[[list[Array]], Sequence[Rows | ServingError]]
"""The input of several requests in, (images, ...) each; outputs or an error a request, in order."""

_FILES = {
    "preprocess": ("transform.json",),
    "postprocess": ("labels.txt",),
    "classifier": ("model.onnx",),
}
"""Beside ``model.py``. In the order of building: what costs most comes last."""
_INSIDE_TRITON = "triton_python_backend_utils"


class OfAnotherKind(ServingError):
    """A repository that can't be run here, which says nothing against it."""


class StageFailed(ServingError):
    """A stage raised, or refused a request.

    Attributes:
        stage: its name.
    """

    def __init__(self, stage: str, error: Exception) -> None:
        super().__init__(f"{stage}: {type(error).__name__}: {error}")
        self.stage = stage


@dataclass(frozen=True)
class Stages:
    """The three stages, how many images one call may have, and the size of the model."""

    preprocess: Stage
    classifier: Stage
    postprocess: Stage
    max_batch_size: int
    model_bytes: int = 0

    def chain(self, inputs: list[Array]) -> list[Rows | ServingError]:
        """All three, as the ensemble runs them: a request that fails goes no further.

        Returns:
            The outputs of **all** stages, in their order, or a StageFailed, one a request.

        Raises:
            StageFailed: a stage raised, so the whole batch failed.
        """
        done: list[Rows] = [{} for _ in inputs]
        failed: dict[int, ServingError] = {}
        given = dict(enumerate(inputs))
        for name, stage in self.named():
            for n, outputs in zip(given, run(name, stage, list(given.values())), strict=True):
                if isinstance(outputs, ServingError):
                    failed[n] = outputs
                else:
                    done[n].update(outputs)
            given = {n: last(done[n]) for n in given if n not in failed}
            if not given:
                break
        return [failed.get(n, rows) for n, rows in enumerate(done)]

    def named(self) -> Iterator[tuple[str, Stage]]:
        """Names and stages, in their order."""
        yield "preprocess", self.preprocess
        yield "classifier", self.classifier
        yield "postprocess", self.postprocess


def last(outputs: Rows) -> Array:
    """What goes to the next stage."""
    return list(outputs.values())[-1]


def run(name: str, stage: Stage, given: list[Array]) -> Sequence[Rows | ServingError]:
    """A stage's answers, one a request, copied: its next run may overwrite its memory.

    A request that it refuses gets a StageFailed in its place.

    Raises:
        StageFailed: it raised.
        RowsDiffer: not one response a request, or not one row an image.
    """
    try:
        answers = stage(given)
    except Exception as error:  # whatever a stage raises, the batch has failed
        raise StageFailed(name, error) from error
    if len(answers) != len(given):
        raise RowsDiffer("form", f"expected {len(given)} responses, got {len(answers)}", name)
    for array, outputs in zip(given, answers, strict=True):
        for output, rows in () if isinstance(outputs, ServingError) else outputs.items():
            if len(rows) != len(array):
                raise RowsDiffer(
                    "form", f"output {output}: expected {len(array)} rows, got {len(rows)}", output
                )
    return [
        StageFailed(name, one) if isinstance(one, ServingError) else _copied(one) for one in answers
    ]


def _copied(outputs: Rows) -> Rows:
    return {name: np.array(rows) for name, rows in outputs.items()}


def load(repository: Path) -> Stages:
    """Build the stages on the CPU, as Triton's Python backend does.

    Raises:
        OfAnotherKind: the repository is not one that Tandem renders, or not for that backend.
        Exception: whatever ``initialize`` raises; ServingError where files do not fit each other.
    """
    absent = [path for path in _files(repository) if not path.is_file()]
    if absent:
        names = ", ".join(str(path.relative_to(repository)) for path in absent)
        raise OfAnotherKind(f"the repository lacks {names}")
    configs = {name: _config(repository / name / "config.pbtxt") for name in _FILES}
    for name in ("preprocess", "postprocess"):
        if configs[name]["backend"] != "python":
            raise OfAnotherKind(f"{name} runs in the backend {configs[name]['backend']!r}")
    _check_one_transform(repository)
    built = {name: _stage(repository / name, configs[name]) for name in _FILES}
    sizes = (max(1, int(config["max_batch_size"])) for config in configs.values())
    model = _version(repository / "classifier") / "model.onnx"
    return Stages(**built, max_batch_size=min(sizes), model_bytes=model.stat().st_size)


def _check_one_transform(repository: Path) -> None:
    """Of a classifier that normalises: it has to be that of preprocess."""
    made, used = (
        _version(repository / name) / "transform.json" for name in ("preprocess", "classifier")
    )
    if used.is_file() and Transform.from_file(used) != Transform.from_file(made):
        raise ContractMismatch(f"{used}: expected the transform of {made}, got another")


def _files(repository: Path) -> Iterator[Path]:
    """What a repository of this kind has."""
    yield repository / "ensemble" / "config.pbtxt"
    for name, files in _FILES.items():
        folder = repository / name
        yield folder / "config.pbtxt"
        yield from (_version(folder) / file for file in ("model.py", *files))


def _config(path: Path) -> dict[str, Any]:
    """As Triton hands it to a Python model."""
    message = pbtxt.parse(path.read_text(encoding="utf-8"), str(path))
    fields: dict[str, Any] = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    # The GPU target gives the classifier to ONNX Runtime's own backend, without this parameter.
    fields["parameters"].setdefault("num_threads", {"string_value": "1"})
    return fields


def _stage(model: Path, config: dict[str, Any]) -> Stage:
    """What ``model.py`` builds; the backend's module, which only ``execute`` needs, is empty."""
    path = _version(model) / "model.py"
    module = ModuleType(f"model_{model.name}")
    module.__file__ = str(path)
    with _empty_module(_INSIDE_TRITON):
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
        served = module.TritonPythonModel()
        arguments = {"model_config": json.dumps(config), "model_instance_kind": "CPU"}
        served.initialize(arguments | {"model_instance_device_id": "0"})
    if not hasattr(served, "stage"):
        raise OfAnotherKind(f"{path.relative_to(model.parent)} has no `stage`")
    stage: Stage = served.stage
    return stage


@contextmanager
def _empty_module(name: str) -> Iterator[None]:
    """Something to import by that name; other modules that are imported meanwhile stay."""
    before, sys.modules[name] = sys.modules.get(name), ModuleType(name)
    try:
        yield
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before


def _version(model: Path) -> Path:
    """The newest version's folder; that of version 1 where there is none."""
    numbers = [int(path.name) for path in model.glob("[0-9]*") if path.name.isdecimal()]
    return model / str(max(numbers, default=1))

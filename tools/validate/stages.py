"""The stages of a repository in this process: the objects that its ``model.py`` files build."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import json_format

from ensemble import pbtxt
from ensemble.errors import ServingError
from ensemble.tensors import IMAGE, answers, check_declared, logits, pixels
from ensemble.transform import Transform
from tools.validate.batch_axis import RowsDiffer

Array = np.ndarray[Any, Any]
Rows = dict[str, Array]
Stage = Callable[[list[Array]], Sequence[Rows | ServingError]]
"""The input of several requests in, (images, ...) each; outputs or an error a request, in order."""

_FILES = {
    "preprocess": ("transform.json",),
    "classifier": ("model.onnx",),
    "postprocess": ("labels.txt",),
}


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
    """The three stages, and how many images one call may have."""

    preprocess: Stage
    classifier: Stage
    postprocess: Stage
    max_batch_size: int

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


def missing(repository: Path) -> Iterator[Path]:
    """Files without which a repository is not of this kind."""
    if not (repository / "ensemble" / "config.pbtxt").is_file():
        yield repository / "ensemble" / "config.pbtxt"
    for name, files in _FILES.items():
        folder = repository / name
        needed = [folder / "config.pbtxt", *(_version(folder) / file for file in files)]
        yield from (path for path in needed if not path.is_file())


def load(repository: Path) -> Stages:
    """Build the stages on the CPU.

    Raises:
        ServingError: the files do not fit each other.
        Exception: whatever ONNX Runtime says of a model that it does not load.
    """
    configs = {name: _config(repository / name / "config.pbtxt") for name in _FILES}
    sizes = [max(1, int(config["max_batch_size"])) for config in configs.values()]
    return Stages(
        _preprocess(configs["preprocess"], _version(repository / "preprocess")),
        _classifier(configs["classifier"], _version(repository / "classifier")),
        _postprocess(configs["postprocess"], _version(repository / "postprocess")),
        min(sizes),
    )


def _config(path: Path) -> dict[str, Any]:
    """As Triton hands it to a Python model."""
    message = pbtxt.parse(path.read_text(encoding="utf-8"), str(path))
    fields: dict[str, Any] = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return fields


def _preprocess(config: dict[str, Any], folder: Path) -> Stage:
    from preprocess.decode import Preprocessor
    from preprocess.guard import Limits

    transform = Transform.from_file(folder / "transform.json")
    check_declared(config["input"], (IMAGE,))
    check_declared(config["output"], (pixels(transform),))
    names = {"max_image_bytes", "max_image_pixels", "max_image_aspect"}
    parameters = config["parameters"].items()
    limits = {n.replace("image_", ""): int(p["string_value"]) for n, p in parameters if n in names}
    batch_size = max(1, int(config["max_batch_size"]))
    return Preprocessor(transform, Limits(**limits), batch_size)


def _classifier(config: dict[str, Any], folder: Path) -> Stage:
    from classifier.session import BatchSession

    threads = config["parameters"].get("num_threads", {}).get("string_value", "1")
    return BatchSession(folder / "model.onnx", config, int(threads))


def _postprocess(config: dict[str, Any], folder: Path) -> Stage:
    from postprocess.answer import Answerer
    from postprocess.labels import load_labels

    classes, top_k = int(config["input"][0]["dims"][0]), int(config["output"][0]["dims"][0])
    check_declared(config["input"], (logits(classes),))
    check_declared(config["output"], answers(top_k))
    return Answerer(load_labels(folder / "labels.txt", classes), top_k)


def _version(model: Path) -> Path:
    """The newest version's folder; that of version 1 where there is none."""
    numbers = [int(path.name) for path in model.glob("[0-9]*") if path.name.isdecimal()]
    return model / str(max(numbers, default=1))

"""One model of a repository, as Triton would see it when it polls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tools.validate.findings import Place
from tools.validate.source import Source
from tools.validate.target import Target

FILE_OF = {
    "onnxruntime": "model.onnx",
    "tensorrt": "model.plan",
    "pytorch": "model.pt",
    "openvino": "model.xml",
    "python": "model.py",
    "dali": "model.dali",
}
"""The file that a backend loads unless default_model_filename names another."""
PLATFORM_OF = {
    "onnxruntime_onnx": "onnxruntime",
    "tensorrt_plan": "tensorrt",
    "pytorch_libtorch": "pytorch",
    "tensorflow_savedmodel": "tensorflow",
    "tensorflow_graphdef": "tensorflow",
}
"""Backend that a platform, the older way to name one, stands for."""


@dataclass(frozen=True)
class Model:
    """A configuration with what lies beside it.

    Attributes:
        name: of the folder, or of the configuration where there is no folder.
        source: the configuration; its message is empty where the model has no file.
        target: the server that it is meant for.
        directory: the model's folder; None for a configuration on its own.
    """

    name: str
    source: Source
    target: Target
    directory: Path | None = None

    @property
    def config(self) -> Any:
        """The message."""
        return self.source.config

    def place(self, *fields: str) -> Place:
        """Where the first of ``fields`` that is written stands."""
        return self.source.place(*fields)

    def entry(self, field: str, key: object) -> str:
        """The path of a map's entry, in the order of the text; that of the map where not found."""
        for path, word in self.source.words.items():
            if path.startswith(f"{field}[") and path.endswith("].key") and word == str(key):
                return path.removesuffix(".key")
        return field

    @property
    def is_ensemble(self) -> bool:
        """Whether it passes tensors between other models."""
        return bool(self.config.HasField("ensemble_scheduling"))

    @cached_property
    def versions(self) -> tuple[int, ...]:
        """The numbers that Triton reads from the names of the subfolders, ascending."""
        if self.directory is None:
            return ()
        names = [path.name for path in self.directory.iterdir() if path.is_dir()]
        return tuple(sorted({number for name in names if (number := version_of(name)) is not None}))

    @cached_property
    def served(self) -> tuple[Path, ...]:
        """The version folders that the version policy loads; not all of them need be there."""
        policy, numbers = self.config.version_policy, self.versions
        if policy.HasField("specific"):
            wanted = set(policy.specific.versions)
            numbers = tuple(number for number in numbers if number in wanted)
        elif not policy.HasField("all"):
            count = policy.latest.num_versions if policy.HasField("latest") else 1
            numbers = numbers[-count:] if count else ()
        folder = self.directory or Path()
        return tuple(folder / str(number) for number in numbers)

    @cached_property
    def backend(self) -> str:
        """The backend that Triton would choose; empty where it could not.

        Source: AutoCompleteBackendFields in Triton's model_config_utils.cc.
        """
        if self.config.backend:
            return str(self.config.backend)
        if self.config.platform:
            return PLATFORM_OF.get(self.config.platform, "")
        known = {name: backend for backend, name in FILE_OF.items()}
        if self.config.default_model_filename:
            return known.get(self.config.default_model_filename, "")
        first = self.first_folder
        for backend, name in FILE_OF.items():
            if first and (first / name).exists():
                return backend
        return ""

    @property
    def first_folder(self) -> Path | None:
        """The subfolder that Triton looks into for the backend's file: any, by name."""
        if self.directory is None:
            return None
        return min((path for path in self.directory.iterdir() if path.is_dir()), default=None)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where Triton looks for libraries of the model's own: its versions, then its folder."""
        return (*self.served, self.directory) if self.directory else ()

    @property
    def filename(self) -> str:
        """The file that the backend loads; empty where it is not known.

        TensorFlow's platforms name theirs even for another backend.
        """
        of_platform = {
            "tensorflow_savedmodel": "model.savedmodel",
            "tensorflow_graphdef": "model.graphdef",
        }.get(self.config.platform)
        named = self.config.default_model_filename or of_platform
        return str(named or FILE_OF.get(self.backend, ""))

    @property
    def batches(self) -> bool:
        """Whether a batch of two may form in this model's own queue."""
        return bool(self.config.max_batch_size > 1 and self.config.HasField("dynamic_batching"))

    @property
    def instances(self) -> int:
        """Of all groups; one GPU is counted for a group that lists none."""
        groups = self.config.instance_group
        count = sum(max(1, group.count) * max(1, len(group.gpus)) for group in groups)
        return count or 1


def version_of(name: str) -> int | None:
    """The number that Triton reads from a folder's name; None where it passes the folder over.

    It takes what a name begins with, so ``1a`` is 1, and then looks for a folder ``1``.

    Source: ReadVersions in Triton's model_repository_manager, which calls ``std::stoll``.
    """
    if len(name) > 1 and name.startswith("0"):
        return None
    number = re.match(r"\s*[+-]?[0-9]+", name)
    return int(number.group()) if number else None

"""One model of a repository, as Triton would see it when it polls."""

from __future__ import annotations

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

    @property
    def is_ensemble(self) -> bool:
        """Whether it passes tensors between other models."""
        return bool(self.config.HasField("ensemble_scheduling"))

    @cached_property
    def versions(self) -> tuple[Path, ...]:
        """The version folders, in the order of their numbers.

        Source: Triton takes the subfolders whose names are whole numbers.
        """
        if self.directory is None:
            return ()
        folders = [path for path in self.directory.iterdir() if path.is_dir()]
        numbered = [path for path in folders if is_version(path.name)]
        return tuple(sorted(numbered, key=lambda path: int(path.name)))

    @cached_property
    def served(self) -> tuple[Path, ...]:
        """The version folders that the version policy loads."""
        policy = self.config.version_policy
        if policy.HasField("all"):
            return self.versions
        if policy.HasField("specific"):
            wanted = set(policy.specific.versions)
            return tuple(path for path in self.versions if int(path.name) in wanted)
        count = policy.latest.num_versions if policy.HasField("latest") else 1
        return self.versions[-count:] if count else ()

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
        folders = sorted(self.versions, key=lambda path: path.name)
        for backend, name in FILE_OF.items():
            if folders and (folders[0] / name).exists():
                return backend
        return ""

    @property
    def filename(self) -> str:
        """The file that the backend loads; empty where it is not known."""
        return str(self.config.default_model_filename or FILE_OF.get(self.backend, ""))

    @property
    def batches(self) -> bool:
        """Whether a batch of two may form in this model's own queue."""
        return self.config.max_batch_size > 1 and self.config.HasField("dynamic_batching")

    @property
    def instances(self) -> int:
        """Of all groups; one GPU is counted for a group that lists none."""
        groups = self.config.instance_group
        count = sum(max(1, group.count) * max(1, len(group.gpus)) for group in groups)
        return count or 1


def is_version(name: str) -> bool:
    """Whether Triton takes a folder for a version: a whole number without a leading zero."""
    return name.isascii() and name.isdigit() and str(int(name)) == name and int(name) < 1 << 63

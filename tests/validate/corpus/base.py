"""What the cases are made from: a model that Triton loads, and its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

HEAD = 'backend: "python"\nmax_batch_size: 8\n'
INPUT = 'input { name: "A" data_type: TYPE_FP32 dims: 4 }\n'
OUTPUT = 'output { name: "B" data_type: TYPE_FP32 dims: 4 }\n'
BASE = HEAD + INPUT + OUTPUT
MODEL = """\
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        output = pb_utils.Tensor("B", np.zeros((1, 4), np.float32))
        return [pb_utils.InferenceResponse([output]) for _ in requests]
"""


def with_input(fields: str) -> str:
    """The model with another input."""
    return f"{HEAD}input {{ {fields} }}\n{OUTPUT}"


def with_output(fields: str) -> str:
    """The model with another output."""
    return f"{HEAD}{INPUT}output {{ {fields} }}\n"


@dataclass(frozen=True, eq=False)
class Case:
    """A repository that the real server and the validator both judge.

    Attributes:
        name: of the case and of the model that is loaded.
        files: text by path inside the repository.
        hangs: the server does not refuse it but stops answering or ends, which is worse.
    """

    name: str
    files: dict[str, str] = field(default_factory=dict)
    hangs: bool = False

    def write(self, repository: Path) -> None:
        """Put the files below ``repository``, byte for byte; ``\\udcXX`` is the byte XX."""
        for name, text in self.files.items():
            path = repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))


def alone(name: str, config: str | None, files: dict[str, str]) -> Case:
    """A repository of one model."""
    written = {f"{name}/{path}": text for path, text in files.items()}
    if config is not None:
        written[f"{name}/config.pbtxt"] = config
    return Case(name, written)

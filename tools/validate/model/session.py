"""ONNX Runtime on the CPU, with every refusal as one error that carries its words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

Array = np.ndarray[Any, Any]
Feeds = Mapping[str, Array]

# Source: onnxruntime/python/onnxruntime_pybind_mlvalue.cc; types without a numpy one are left out.
NUMPY_TYPES: dict[str, type] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
    **{
        f"tensor({sign}int{bits})": getattr(np, f"{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}
SILENT = 4
# Of a C++ function, as its errors quote it: parentheses within parentheses at most.
SIGNATURE = r"[^()]*\([^()]*(?:\([^()]*\)[^()]*)*\)(?: const)?(?: \[with [^\]]*\])?"


class Refused(Exception):
    """ONNX Runtime does not load or does not run; the message is its own, on one line."""

    @property
    def is_memory(self) -> bool:
        """Whether it is for want of memory."""
        return "bad_alloc" in str(self) or "allocate memory" in str(self)

    @property
    def node(self) -> tuple[str, str] | None:
        """Operator and name of the node that it blames."""
        found = re.search(r"running (\w+) node\. Name:'(.*?)' Status", str(self))
        return (found[1], found[2]) if found else None


@dataclass(frozen=True)
class Wanted:
    """An input as ONNX Runtime reports it: its shape has numbers, names and None."""

    name: str
    kind: str
    shape: tuple[int | str | None, ...]


class Session:
    """A model that is loaded.

    Attributes:
        inputs: those that a caller has to give.
        outputs: names.
        shapes: of the outputs, as inferred; empty where not even the rank is known.
    """

    def __init__(self, model: Path | bytes, folder: Path, optimise: bool = True) -> None:
        """Loads it.

        Args:
            model: the file, or its bytes.
            folder: where external data lie, for bytes.
            optimise: as Triton does by default; without, each node runs as it is written.

        Raises:
            Refused: ONNX Runtime does not load it.
        """
        source = str(model) if isinstance(model, Path) else model
        options = _options(folder, optimise)
        try:
            self._session: Any = onnxruntime.InferenceSession(
                source, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exceptions have no common base of their own
            raise Refused(_one_line(error)) from error
        self.inputs = [Wanted(i.name, i.type, tuple(i.shape)) for i in self._session.get_inputs()]
        outputs = self._session.get_outputs()
        self.outputs = [output.name for output in outputs]
        self.shapes = {output.name: list(output.shape) for output in outputs}

    def run(self, feeds: Feeds) -> dict[str, Array]:
        """Every output that is an array.

        Raises:
            Refused: ONNX Runtime does not take this input.
        """
        try:
            values = self._session.run(self.outputs, dict(feeds))
        except Exception as error:  # as above
            raise Refused(_one_line(error)) from error
        named = zip(self.outputs, values, strict=True)
        return {name: value for name, value in named if isinstance(value, np.ndarray)}


def _options(folder: Path, optimise: bool) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = SILENT
    options.intra_op_num_threads = min(4, os.cpu_count() or 1)
    # Without its arena, memory goes back after each run, so a batch costs what it needs.
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(folder)
    )
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def _one_line(error: Exception) -> str:
    """Its words without the source positions, which say nothing to a user."""
    text = " ".join(str(error).split())
    text = re.sub(rf"/\S*onnxruntime_src/\S+ {SIGNATURE} ", "", text)
    return text if len(text) <= 500 else f"{text[:500]}…"


def stack(items: Sequence[Feeds], order: Sequence[int]) -> dict[str, Array]:
    """A batch of some items: their rows one after the other. One item is as it is."""
    if len(order) == 1:
        return dict(items[order[0]])
    return {name: np.concatenate([items[i][name] for i in order]) for name in items[0]}

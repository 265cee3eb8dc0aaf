"""Small ONNX models, good and broken, each with the verdict that is right for it.

``rng`` is one generator of fixed seed per model, so weights do not depend on the order of models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

Node = onnx.NodeProto
Value = onnx.ValueInfoProto
Array = np.ndarray[Any, Any]

IMAGE = ("x", T.FLOAT, ["N", 3, 8, 8])
ROWS = ("x", T.FLOAT, ["N", 8])


@dataclass(frozen=True)
class Animal:
    """One model of the zoo.

    Attributes:
        name: of the model.
        codes: the rules that it breaks or fulfils: all of them, and no other.
        guilty: name of the node that has to be named in a finding.
        build: the file's content; further files may be written into the folder.
        config: text of its ``config.pbtxt``.
        says: words that have to be in the findings.
    """

    name: str
    codes: frozenset[str]
    guilty: str | None
    build: Callable[[Path], bytes]
    config: str | None = None
    says: tuple[str, ...] = ()


def node(op_type: str, reads: str, makes: str, name: str = "", **attributes: Any) -> Node:
    """A node; its inputs and outputs are words, ``_`` is one left out."""
    inputs = ["" if word == "_" else word for word in reads.split()]
    domain = attributes.pop("domain", "")
    outputs = makes.split()
    name = name or f"{op_type.lower()}_{outputs[-1]}"
    return helper.make_node(op_type, inputs, outputs, name=name, domain=domain, **attributes)


def value(name: str, kind: int, shape: Sequence[int | str | None] | None) -> Value:
    return helper.make_tensor_value_info(name, kind, shape)


@dataclass
class Sketch:
    """What makes a model, before it is put together."""

    nodes: Sequence[Node]
    inputs: Sequence[tuple[str, int, Sequence[int | str | None] | None]] = (ROWS,)
    outputs: Sequence[tuple[str, int, Sequence[int | str | None] | None]] = (
        ("y", T.FLOAT, ["N", 8]),
    )
    weights: dict[str, Array] | None = None
    opset: int = 17
    ir_version: int = 8
    domains: Sequence[str] = ()

    def model(self) -> onnx.ModelProto:
        weights = [
            numpy_helper.from_array(array, name) for name, array in (self.weights or {}).items()
        ]
        graph = helper.make_graph(
            list(self.nodes),
            "graph",
            [value(*one) for one in self.inputs],
            [value(*one) for one in self.outputs],
            weights,
        )
        opsets = [helper.make_opsetid("", self.opset)]
        opsets += [helper.make_opsetid(domain, 1) for domain in self.domains]
        return helper.make_model(graph, opset_imports=opsets, ir_version=self.ir_version)

    def __call__(self, folder: Path) -> bytes:
        return bytes(self.model().SerializeToString())


def weight(*shape: int, dtype: Any = np.float32, seed: int = 1) -> Array:
    """Normal, scaled so that sums of it stay about 1."""
    scale = 1 / np.sqrt(max(1, int(np.prod(shape[1:]))))
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(dtype)


def whole(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def good(name: str, sketch: Callable[[Path], bytes], *codes: str, **more: Any) -> Animal:
    """A model that batches; further codes are notes."""
    return Animal(name, frozenset({"O042", *codes}), None, sketch, **more)


def broken(
    name: str, codes: str, guilty: str | None, sketch: Callable[[Path], bytes], **more: Any
) -> Animal:
    return Animal(name, frozenset(codes.split()), guilty, sketch, **more)

"""The ONNX graph itself: loaded and checked, its files of weights, and how it ends."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ensemble.errors import ContractMismatch

_SHAPE_ONLY = ("Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose")
_KEEPS_SCORES = (*_SHAPE_ONLY, "Clip", "Dropout")
_NEUTRAL = {"Mul": 1, "Div": 1, "Add": 0, "Sub": 0}
"""Operators, and the constant with which they do nothing."""
_SMALL = 1 << 16  # numbers of a tensor; one a class


def load(path: Path) -> Any:
    """The model without its external weights.

    Raises:
        ContractMismatch: not there, or not ONNX.
    """
    onnx = package("onnx")
    try:
        return onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf's and onnx's own kinds
        reason = error.strerror if isinstance(error, OSError) else "not an ONNX model"
        raise ContractMismatch(f"{path}: expected an ONNX file, got {reason}") from error


def check(proto: Any, path: Path, weights: tuple[str, ...]) -> None:
    """ONNX's own check: some damage ends ONNX Runtime and the process with it.

    Args:
        proto: what was loaded; its notes on inner shapes, often stale, are dropped.
        path: where from.
        weights: its external files; shapes are then not inferred, since some may be in there.

    Raises:
        ContractMismatch: with the checker's reason.
    """
    onnx = package("onnx")
    del proto.graph.value_info[:]
    try:
        onnx.checker.check_model(str(path) if weights else proto, full_check=not weights)
    except Exception as error:  # the checker's, shape inference's, and decoding of names
        raise ContractMismatch(f"{path}: ONNX's own checker: {short(error)}") from error


def package(name: str) -> Any:
    """The module of that name.

    Raises:
        ContractMismatch: it is not installed, as in the serving image.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ContractMismatch(
            f"import needs the package {name}, which the serving image leaves out: "
            "run it where `make setup` was run"
        ) from error


def external_files(proto: Any, path: Path) -> Iterator[str]:
    """Files that hold weights, each seen to be there, relative to the model's folder.

    Raises:
        ContractMismatch: one is missing or outside that folder.
    """
    for tensor in _tensors(proto.graph):
        for entry in tensor.external_data:
            if entry.key != "location":
                continue
            folder = path.parent.resolve()
            file = (folder / entry.value).resolve()
            if not file.is_relative_to(folder):
                raise ContractMismatch(
                    f"{path}: {tensor.name}: expected its weights below {folder}, got {entry.value}"
                )
            if not file.is_file():
                raise ContractMismatch(
                    f"{path}: {tensor.name}: its weights are in {entry.value}, and {file} is not "
                    "there: keep the file beside the model"
                )
            yield file.relative_to(folder).as_posix()


def _tensors(graph: Any) -> Iterator[Any]:
    """Initialisers and constants, of subgraphs too."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for subgraph in [
                *attribute.graphs,
                *([attribute.g] if attribute.HasField("g") else []),
            ]:
                yield from _tensors(subgraph)


def last_operator(graph: Any, name: str) -> str | None:
    """The operator that computes a tensor, past those that leave a score what it is.

    They cast, clip or change the shape, or multiply by 1.
    """
    producers = {output: node for node in graph.node for output in node.output}
    constants = dict(_small_constants(graph))
    while name in producers:
        before = _passed_on(producers[name], constants)
        if before is None:
            return str(producers[name].op_type)
        name = before
    return None


def _passed_on(node: Any, constants: dict[str, Any]) -> str | None:
    """The input that a node passes on; None where it makes something else of it."""
    if node.op_type in _KEEPS_SCORES:
        return str(node.input[0])
    neutral = _NEUTRAL.get(node.op_type)
    if neutral is None:
        return None
    left, right = map(str, node.input)
    sides = [(left, right)] if node.op_type in ("Div", "Sub") else [(left, right), (right, left)]
    to_array = package("onnx.numpy_helper").to_array
    known = ((x, to_array(constants[y])) for x, y in sides if y in constants)
    return next((x for x, values in known if (values == neutral).all()), None)


def _small_constants(graph: Any) -> Iterator[tuple[str, Any]]:
    """Small tensors that are written into the file itself."""
    tensors = [(tensor.name, tensor) for tensor in graph.initializer]
    for node in graph.node:
        if node.op_type == "Constant":
            tensors += [(node.output[0], a.t) for a in node.attribute if a.name == "value"]
    for name, tensor in tensors:
        if not tensor.external_data and math.prod(tensor.dims) <= _SMALL:
            yield name, tensor


def short(error: Exception) -> str:
    """The message of another library, on one line and not too long."""
    return " ".join(str(error).split())[:300]

"""The ONNX graph itself: loaded and checked, its files of weights, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ensemble.errors import ContractMismatch

_SHAPE_ONLY = ("Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose")


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
    """The operator that computes a tensor, past those that only cast it or change its shape."""
    producers = {output: node for node in graph.node for output in node.output}
    while name in producers and producers[name].op_type in _SHAPE_ONLY:
        name = producers[name].input[0]
    return str(producers[name].op_type) if name in producers else None


def short(error: Exception) -> str:
    """The message of another library, on one line and not too long."""
    return " ".join(str(error).split())[:300]

"""An ONNX file as protobuf: read, walked, and its declared batch axis freed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from tools.validate.model.weights import without_weights

BATCH = "batch"
"""Name of a batch axis that was freed."""

Dim = int | str | None


class Unreadable(Exception):
    """The file is no ONNX model; the message says what was found."""


def read(path: Path) -> onnx.ModelProto:
    """The model without its external data; large weights are external, in the file itself.

    Raises:
        Unreadable: no such file, empty, cut short, not ONNX, or text in it that is not UTF-8.
    """
    try:
        size = path.stat().st_size
        model = onnx.ModelProto.FromString(without_weights(path))
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    except (DecodeError, ValueError) as error:
        raise Unreadable(f"{size} bytes that are no ONNX, or not all of it") from error
    if not model.HasField("graph") or not model.graph.output:
        raise Unreadable(f"{size} bytes without a graph that has outputs")
    if _has_bad_text(model):
        raise Unreadable(f"{size} bytes, with a name in them that is not UTF-8")
    return model


def _has_bad_text(message: Any) -> bool:
    """Whether a string is not UTF-8: protobuf parses it, and hands it on as bytes."""
    for field, value in message.ListFields():
        parts = (value,) if hasattr(value, "ListFields") or isinstance(value, str) else value
        if field.type == field.TYPE_MESSAGE and any(map(_has_bad_text, parts)):
            return True
        if field.type == field.TYPE_STRING and not all(isinstance(part, str) for part in parts):
            return True
    return False


def all_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and those inside its If, Loop and Scan nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
                yield from all_graphs(inner)


def all_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Every node, also of subgraphs and of the model's own functions."""
    for graph in all_graphs(model.graph):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def real_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Inputs that a caller has to give: those that no initialiser fills."""
    filled = {tensor.name for tensor in graph.initializer}
    filled |= {tensor.values.name for tensor in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in filled]


def dims(value: onnx.ValueInfoProto) -> list[Dim] | None:
    """Declared dimensions: a number, a name, or None; None for a shape that is not declared.

    Some exporters write -1 for a free dimension; ONNX Runtime takes it so.
    """
    if not value.type.tensor_type.HasField("shape"):
        return None
    return [_dim(dim) for dim in value.type.tensor_type.shape.dim]


def _dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    return dim.dim_param or None


def kind(value: onnx.ValueInfoProto) -> str:
    """Name of the element type, as in ``FLOAT16``."""
    number = value.type.tensor_type.elem_type
    found = onnx.TensorProto.DataType.DESCRIPTOR.values_by_number.get(number)
    return str(found.name) if found else f"type {number}"


def show(shape: list[Dim] | None) -> str:
    """``[N, 3, 224, 224]``; what is not known is ``?``."""
    if shape is None:
        return "of unknown rank"
    return f"[{', '.join('?' if dim is None else str(dim) for dim in shape)}]"


def label(node: onnx.NodeProto) -> str:
    """``Reshape node 'flatten'``, or by its first output where it has no name."""
    outputs = [name for name in node.output if name]
    name = repr(node.name) if node.name else "without a name"
    return f"{node.op_type} node {name} (output {outputs[0]!r})" if outputs else node.op_type


@dataclass(frozen=True)
class External:
    """Weights in another file: the tensor, the file as written, and the bytes it needs there."""

    tensor: str
    location: str
    end_bytes: int

    @property
    def escapes(self) -> bool:
        """Whether the path leaves the model's folder."""
        path = PurePosixPath(self.location)
        return path.is_absolute() or ".." in path.parts


def externals(model: onnx.ModelProto) -> Iterator[External]:
    """Every tensor whose data are in another file."""
    for tensor in _tensors(model):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        entries = {entry.key: entry.value for entry in tensor.external_data}
        numbers = [entries.get(key, "0") for key in ("offset", "length")]
        end = sum(int(number) for number in numbers if number.isdecimal())
        yield External(tensor.name, entries.get("location", ""), end)


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for graph in all_graphs(model.graph):
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield from (sparse.values, sparse.indices)
    for node in all_nodes(model):
        for attribute in node.attribute:
            yield from attribute.tensors
            if attribute.HasField("t"):
                yield attribute.t


def fixed_batch(model: onnx.ModelProto) -> dict[str, int]:
    """Tensors among inputs and outputs whose first dimension is a number, with that number."""
    shapes = {v.name: dims(v) for v in (*real_inputs(model.graph), *model.graph.output)}
    return {name: shape[0] for name, shape in shapes.items() if shape and type(shape[0]) is int}


def could_batch(model: onnx.ModelProto) -> bool:
    """Whether every input and output has a first dimension, and a free one.

    Source: AutoCompleteMaxBatch in onnxruntime.cc. The shape of an output that declares none is
    inferred by ONNX Runtime, so it is not held against the model here.
    """
    inputs = [dims(value) or [] for value in real_inputs(model.graph)]
    outputs = [dims(value) for value in model.graph.output]
    shapes = [*inputs, *(shape for shape in outputs if shape is not None)]
    return all(shape and not isinstance(shape[0], int) for shape in shapes)


def free_dims(model: onnx.ModelProto, names: frozenset[str]) -> None:
    """Frees the first dimension of the named inputs and outputs, in place."""
    for value in (*model.graph.input, *model.graph.output):
        if value.name in names:
            value.type.tensor_type.shape.dim[0].dim_param = BATCH


@dataclass(frozen=True)
class Source:
    """A model as it is run: a file, with the batch axis of some tensors freed in memory only."""

    path: Path
    freed: frozenset[str] = frozenset()

    def model(self) -> onnx.ModelProto:
        """Read anew: a model is large, and kept only while it is worked on.

        The shapes noted inside go with a freed batch: they were inferred from the fixed one, and
        ONNX Runtime infers them anew.
        """
        model = read(self.path)
        free_dims(model, self.freed)
        if self.freed:
            del model.graph.value_info[:]
        return model

    def loadable(self) -> Path | bytes:
        """What ONNX Runtime loads: the file itself where nothing was freed."""
        return self.model().SerializeToString() if self.freed else self.path


def used_names(node: onnx.NodeProto) -> set[str]:
    """What a node reads; one with subgraphs reads what they use of the outer graph too."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
            for graph in all_graphs(inner):
                names |= {value.name for value in graph.output}
                names |= {name for inner_node in graph.node for name in inner_node.input if name}
    return names


def ancestors(graph: onnx.GraphProto, wanted: set[str]) -> list[onnx.NodeProto]:
    """The nodes that some tensors are computed by, in the graph's order, which is topological."""
    needed, kept = set(wanted), []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            kept.append(node)
            needed |= used_names(node)
    return kept[::-1]


def depth(graph: onnx.GraphProto) -> int:
    """Nodes on the longest path."""
    deep: dict[str, int] = {}
    for node in graph.node:
        below = 1 + max((deep.get(name, 0) for name in used_names(node)), default=0)
        deep.update(dict.fromkeys(node.output, below))
    return max(deep.values(), default=0)


def expose(model: onnx.ModelProto, tensors: list[str]) -> bytes:
    """The part of the model that computes some tensors, with these as its outputs."""
    part = onnx.ModelProto()
    part.CopyFrom(model)
    nodes = ancestors(part.graph, set(tensors))
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del part.graph.node[:]
    part.graph.node.extend(kept)
    del part.graph.output[:]
    part.graph.output.extend(onnx.ValueInfoProto(name=name) for name in tensors)
    return bytes(part.SerializeToString())

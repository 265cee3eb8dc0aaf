"""What is wrong with an ONNX file can be read in it, without running it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx

from tools.validate.findings import Finding, Place
from tools.validate.model import graph as g
from tools.validate.model.request import ModelUnderTest
from tools.validate.releases import Release
from tools.validate.rules import onnx as rules

ONNX_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
# Source: docs/ContribOperators.md of ONNX Runtime; built into every build.
RUNTIME_DOMAINS = ("com.microsoft", "com.ms.internal.nhwc", "com.microsoft.nchwc")
# Source: the same; operators that ONNX Runtime keeps in ONNX's own domain.
RUNTIME_OPERATORS = {"Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus"} | {
    "ScaledTanh",
    "GivenTensorFill",
    "Scale",
}


def check_static(under_test: ModelUnderTest, model: onnx.ModelProto) -> Iterator[Finding]:
    """Everything that needs no run and no configuration."""
    place = Place(under_test.path)
    yield from _versions(place, model, under_test.release)
    yield from _operators(place, model, under_test)
    yield from _weights(place, model)
    yield from _outputs(place, model.graph)
    yield from _types(place, model.graph)
    yield from _initialisers(place, model.graph)
    yield from _symbols(place, model.graph)
    yield from _kinds(place, model.graph)


def _versions(place: Place, model: onnx.ModelProto, release: Release) -> Iterator[Finding]:
    takes = release.takes
    if model.ir_version > takes.ir_version:
        yield rules.IR_TOO_NEW.at(
            place, f"IR version {model.ir_version}; {release} reads up to {takes.ir_version}"
        )
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and opset.version > takes.opset:
            yield rules.OPSET_TOO_NEW.at(
                place, f"opset {opset.version}; {release} has up to {takes.opset}"
            )


def _operators(
    place: Place, model: onnx.ModelProto, under_test: ModelUnderTest
) -> Iterator[Finding]:
    own = {(function.domain, function.name) for function in model.functions}
    config = under_test.config
    has_library = config is not None and bool(config.model_operations.op_library_filename)
    seen = set()
    for node in g.all_nodes(model):
        operator = (node.domain, node.op_type)
        if operator in seen or operator in own:
            continue
        seen.add(operator)
        if node.domain in ONNX_DOMAINS:
            if not onnx.defs.has(node.op_type, node.domain.removesuffix("ai.onnx")):
                yield from _unknown(place, node)
        elif node.domain not in RUNTIME_DOMAINS and not has_library:
            yield rules.CUSTOM_OPERATOR.at(
                place, f"{g.label(node)} is of the domain {node.domain!r}"
            )


def _unknown(place: Place, node: onnx.NodeProto) -> Iterator[Finding]:
    if node.op_type not in RUNTIME_OPERATORS:
        yield rules.UNKNOWN_OPERATOR.at(
            place, f"{g.label(node)}: ONNX {onnx.__version__} has no operator {node.op_type!r}"
        )


def _weights(place: Place, model: onnx.ModelProto) -> Iterator[Finding]:
    folder = place.path.parent
    outside, missing = set(), {}
    for external in g.externals(model):
        if external.escapes:
            outside.add(external.location)
        else:
            missing.update(_missing(folder, external))
    if outside:
        yield rules.WEIGHTS_ESCAPE.at(place, f"outside {folder}: {', '.join(sorted(outside))}")
    if missing:
        listed = ", ".join(f"{name} ({why})" for name, why in sorted(missing.items()))
        yield rules.WEIGHTS_MISSING.at(place, f"expected beside the model: {listed}")


def _missing(folder: Path, external: g.External) -> dict[str, str]:
    path = folder / external.location
    if not external.location or not path.is_file():
        return {external.location or f"(no name, tensor {external.tensor!r})": "absent"}
    size = path.stat().st_size
    if size < external.end_bytes:
        return {external.location: f"{size} bytes, the model reads {external.end_bytes}"}
    return {}


def _outputs(place: Place, graph: onnx.GraphProto) -> Iterator[Finding]:
    made = {name for node in graph.node for name in node.output}
    made |= {value.name for value in (*graph.input, *graph.initializer)}
    made |= {tensor.values.name for tensor in graph.sparse_initializer}
    for output in graph.output:
        if output.name not in made:
            yield rules.OUTPUT_ABSENT.at(
                place, f"output {output.name!r} is declared; no node computes it"
            )


def _types(place: Place, graph: onnx.GraphProto) -> Iterator[Finding]:
    for value in (*g.real_inputs(graph), *graph.output):
        kind = value.type.WhichOneof("value")
        if kind not in ("tensor_type", None):
            yield rules.NOT_A_TENSOR.at(place, f"{value.name!r} is a {kind.removesuffix('_type')}")


def _initialisers(place: Place, graph: onnx.GraphProto) -> Iterator[Finding]:
    asked = {value.name for value in g.real_inputs(graph)}
    both = [value.name for value in graph.input if value.name not in asked]
    if both:
        yield rules.INITIALISER_AS_INPUT.at(
            place, f"{len(both)} inputs are weights: {_some(both)}; expected only {sorted(asked)}"
        )


def _symbols(place: Place, graph: onnx.GraphProto) -> Iterator[Finding]:
    values = (*g.real_inputs(graph), *graph.output)
    shapes = {value.name: g.dims(value) or [] for value in values}
    batch = {shape[0] for shape in shapes.values() if shape and isinstance(shape[0], str)}
    for name, shape in shapes.items():
        for axis, dim in enumerate(shape):
            if axis and dim in batch:
                yield rules.SYMBOL_SHARED.at(
                    place, f"{name!r} {g.show(shape)}: {dim!r} is the batch and also axis {axis}"
                )


def _kinds(place: Place, graph: onnx.GraphProto) -> Iterator[Finding]:
    for value in g.real_inputs(graph):
        shape = g.dims(value)
        if shape is None:
            yield rules.SHAPE_UNKNOWN.at(place, f"input {value.name!r}")
        kind = g.kind(value)
        wants = [] if kind == "FLOAT" else [kind]
        if shape and len(shape) == 4 and shape[3] in (1, 3, 4) and shape[1] not in (1, 3, 4):
            wants.append("NHWC")
        if wants:
            yield rules.INPUT_KIND.at(
                place, f"input {value.name!r} {g.show(shape)} wants {' '.join(wants)}"
            )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")

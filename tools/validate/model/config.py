"""The ONNX file against its ``config.pbtxt``, as Triton's onnxruntime backend compares them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import onnx

from tools.validate.findings import Finding, Place
from tools.validate.model import graph as g
from tools.validate.rules import onnx as rules

# Source: ConvertToOnnxDataType in onnx_utils.cc of the onnxruntime backend.
TRITON_TYPES = {
    "FLOAT": "FP32",
    "FLOAT16": "FP16",
    "BFLOAT16": "BF16",
    "DOUBLE": "FP64",
    **{name: name for name in ("BOOL", "STRING")},
    **{f"{sign}INT{bits}": f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
}


def check_config(place: Place, model: onnx.ModelProto, config: Any) -> Iterator[Finding]:
    """Names, types and dimensions of both sides.

    Args:
        place: the ONNX file.
        model: what it holds.
        config: Triton's ``ModelConfig``. A list of inputs or outputs that is empty is not
            compared: the server completes it from the model.
    """
    batches = config.max_batch_size > 0
    yield from _inputs(place, model, config)
    yield from _outputs(place, model, config)
    values = {v.name: v for v in (*g.real_inputs(model.graph), *model.graph.output)}
    for tensor in (*config.input, *config.output):
        if tensor.name in values:
            yield from _compare(place, tensor, values[tensor.name], batches)


def _inputs(place: Place, model: onnx.ModelProto, config: Any) -> Iterator[Finding]:
    if not config.input:
        return
    expected = {value.name for value in g.real_inputs(model.graph)}
    overridable = {value.name for value in model.graph.input}
    got = {tensor.name for tensor in config.input} | _made_by_the_server(config)
    yield from _names(place, "input", got - overridable, expected)
    for name in sorted(expected - got):
        yield rules.CONFIG_NAME.at(
            place,
            f"the model's input {name!r} is not in config.pbtxt, which names {_list(got)}",
        )


def _made_by_the_server(config: Any) -> set[str]:
    """Inputs that Triton fills itself: batch inputs, sequence controls, states."""
    names = {name for batch in config.batch_input for name in batch.target_name}
    names |= {control.name for control in config.sequence_batching.control_input}
    return names | {state.input_name for state in config.sequence_batching.state}


def _outputs(place: Place, model: onnx.ModelProto, config: Any) -> Iterator[Finding]:
    if not config.output:
        return
    expected = {value.name for value in model.graph.output}
    got = {tensor.name for tensor in config.output}
    yield from _names(place, "output", got - expected, expected)
    for name in sorted(expected - got):
        yield rules.CONFIG_OUTPUT_UNUSED.at(
            place, f"the model's output {name!r}; config.pbtxt names {_list(got)}"
        )


def _names(place: Place, kind: str, extra: set[str], expected: set[str]) -> Iterator[Finding]:
    for name in sorted(extra):
        yield rules.CONFIG_NAME.at(
            place,
            f"config.pbtxt names the {kind} {name!r}; the model's {kind}s are {_list(expected)}",
        )


def _compare(
    place: Place, tensor: Any, value: onnx.ValueInfoProto, batches: bool
) -> Iterator[Finding]:
    element = g.kind(value)
    wanted = f"TYPE_{TRITON_TYPES.get(element, 'INVALID')}"
    got = type(tensor).DESCRIPTOR.fields_by_name["data_type"].enum_type
    name = got.values_by_number[tensor.data_type].name
    if name != wanted:
        yield rules.CONFIG_TYPE.at(
            place,
            f"{tensor.name!r}: config.pbtxt says {name}, the model {element} (so {wanted})",
        )
    yield from _dims(place, tensor, g.dims(value), batches)


def _dims(
    place: Place, tensor: Any, model_dims: list[g.Dim] | None, batches: bool
) -> Iterator[Finding]:
    if model_dims is None:
        return
    declared = list(tensor.reshape.shape if tensor.HasField("reshape") else tensor.dims)
    expected: Sequence[g.Dim] = model_dims[1:] if batches else model_dims
    if fits(declared, expected):
        return
    wanted = [dim if isinstance(dim, int) else -1 for dim in expected]
    message = f"{tensor.name!r}: config.pbtxt says dims {declared}, the model {g.show(model_dims)}"
    message += f"; expected {wanted}"
    if batches:
        message += " (the batch axis is left out)"
        if fits(declared[1:], expected):
            message += ": drop the first dimension"
    yield rules.CONFIG_DIMS.at(place, message)


def fits(declared: Sequence[int], model_dims: Sequence[g.Dim]) -> bool:
    """Whether Triton takes these dims for the model's: a model's free dimension takes any.

    Source: CompareDimsSupported in backend_common.cc of Triton's backend library; -1 in the
    configuration does not stand for a number in the model.
    """
    return len(declared) == len(model_dims) and all(
        not isinstance(theirs, int) or theirs == ours
        for ours, theirs in zip(declared, model_dims, strict=True)
    )


def _list(names: set[str]) -> str:
    return ", ".join(map(repr, sorted(names))) or "none"

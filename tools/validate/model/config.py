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


def check_config(
    place: Place, model: onnx.ModelProto, config: Any, batches: bool
) -> Iterator[Finding]:
    """Names, types and dimensions of both sides.

    Args:
        place: the ONNX file.
        model: what it holds.
        config: Triton's ``ModelConfig``. A list of inputs or outputs that is empty is not
            compared: the server completes it from the model.
        batches: whether ``dims`` leave out the batch axis.
    """
    yield from _inputs(place, model, config)
    yield from _outputs(place, model, config)
    yield from _optional(place, model, config, batches)
    values = {v.name: v for v in (*g.real_inputs(model.graph), *model.graph.output)}
    for tensor in (*config.input, *config.output):
        if tensor.name in values:
            yield from _type(place, tensor, g.kind(values[tensor.name]))
    for tensor in (*config.input, *_compared_outputs(config)):
        if tensor.name in values:
            yield from _dims(place, tensor, g.dims(values[tensor.name]), batches)


def _compared_outputs(config: Any) -> list[Any]:
    """Those that are not cut by the sizes of the requests. Source: ValidateOutputs."""
    cut = {name for batch in config.batch_output for name in batch.target_name}
    return [tensor for tensor in config.output if tensor.name not in cut]


def check_inferred(
    place: Place, shapes: dict[str, list[g.Dim]], config: Any, batches: bool
) -> Iterator[Finding]:
    """Outputs against what ONNX Runtime infers of them: a free dimension there has to be -1 too.

    Source: ValidateOutputs in onnxruntime.cc, which compares exactly.

    Args:
        place: the ONNX file.
        shapes: by output; empty for a scalar or an unknown rank, which are not compared.
        config: Triton's ``ModelConfig``.
        batches: whether ``dims`` leave out the batch axis.
    """
    for tensor in _compared_outputs(config):
        inferred = shapes.get(tensor.name, [])[batches:]
        expected = [dim if isinstance(dim, int) else -1 for dim in inferred]
        declared = list(shape_of(tensor))
        if len(declared) == len(expected) != 0 and declared != expected:
            yield rules.CONFIG_DIMS.at(
                place,
                f"{tensor.name!r}: config.pbtxt says dims {declared}, ONNX Runtime infers "
                f"{g.show(shapes[tensor.name])}; expected {expected}",
            )


def shape_of(tensor: Any) -> tuple[int, ...]:
    """What the model is given of a configured tensor, its ``reshape`` where it has one."""
    return tuple(tensor.reshape.shape if tensor.HasField("reshape") else tensor.dims)


def filled_by_batch(config: Any) -> set[str]:
    """Inputs that the server fills from the sizes of the requests in a batch."""
    return {name for batch in config.batch_input for name in batch.target_name}


def is_ragged(config: Any) -> bool:
    """Whether requests of unequal length are put together, so that a row is not an item."""
    return bool(config.batch_input) or any(one.allow_ragged_batch for one in config.input)


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
    names = filled_by_batch(config)
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


def _optional(
    place: Place, model: onnx.ModelProto, config: Any, batches: bool
) -> Iterator[Finding]:
    """Source: ValidateInputs in onnxruntime.cc of the backend, and the count of inputs before."""
    needed = {value.name for value in g.real_inputs(model.graph)}
    for tensor in config.input:
        if tensor.optional and (batches or tensor.name in needed):
            why = "max_batch_size is above 0" if batches else "the model has no value of its own"
            yield rules.CONFIG_OPTIONAL.at(
                place, f"{tensor.name!r}: expected no optional: true, since {why}"
            )


def _type(place: Place, tensor: Any, element: str) -> Iterator[Finding]:
    wanted = f"TYPE_{TRITON_TYPES.get(element, 'INVALID')}"
    kinds = type(tensor).DESCRIPTOR.fields_by_name["data_type"].enum_type
    got = kinds.values_by_number.get(tensor.data_type)
    name = got.name if got else f"{tensor.data_type}, which is no type"
    if name != wanted:
        yield rules.CONFIG_TYPE.at(
            place,
            f"{tensor.name!r}: config.pbtxt says {name}, the model {element} (so {wanted})",
        )


def _dims(
    place: Place, tensor: Any, model_dims: list[g.Dim] | None, batches: bool
) -> Iterator[Finding]:
    if model_dims is None:
        return
    declared = list(shape_of(tensor))
    if getattr(tensor, "allow_ragged_batch", False):
        yield from _ragged(place, tensor, model_dims)
        return
    # Source: ValidateInputs and ValidateOutputs; a scalar is compared so, batch or no batch.
    if not model_dims and all(dim == 1 for dim in declared):
        return
    expected: Sequence[g.Dim] = (model_dims[1:] if batches else model_dims) or [1]
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


def _ragged(place: Place, tensor: Any, model_dims: list[g.Dim]) -> Iterator[Finding]:
    """Source: ValidateInputs; all requests come in one row, without a batch axis."""
    if len(model_dims) != 1 or isinstance(model_dims[0], int):
        yield rules.CONFIG_DIMS.at(
            place,
            f"{tensor.name!r}: config.pbtxt says allow_ragged_batch, the model "
            f"{g.show(model_dims)}; expected [-1] there",
        )


def fits(declared: Sequence[int], model_dims: Sequence[g.Dim]) -> bool:
    """Whether Triton takes these dims for the model's: a model's free dimension takes any.

    Source: CompareDimsSupported in onnxruntime_utils.cc of the onnxruntime backend; -1 in the
    configuration does not stand for a number in the model.
    """
    return len(declared) == len(model_dims) and all(
        not isinstance(theirs, int) or theirs == ours
        for ours, theirs in zip(declared, model_dims, strict=True)
    )


def _list(names: set[str]) -> str:
    return ", ".join(map(repr, sorted(names))) or "none"

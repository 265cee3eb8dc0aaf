"""Inputs, outputs and what is derived from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tools.validate.checks.names import type_name
from tools.validate.findings import Finding, Place
from tools.validate.polled import Model
from tools.validate.rules import advice
from tools.validate.rules import configuration as rules

TENSORRT = "tensorrt"
_SHAPED = "FORMAT_NHWC", "FORMAT_NCHW"


def check(model: Model) -> Iterator[Finding]:
    """Source: ValidateModelInput, ValidateModelOutput and ValidateBatchIO in Triton's core."""
    for group in ("input", "output"):
        tensors = getattr(model.config, group)
        for n, tensor in enumerate(tensors):
            where = f"{group}[{n}]"
            yield from _tensor(model, where, tensor)
            if group == "input":
                yield from _format(model, where, tensor)
        first: dict[str, int] = {}
        for n, tensor in enumerate(tensors):
            if tensor.name and first.setdefault(tensor.name, n) != n:
                yield advice.DUPLICATE_TENSOR.at(
                    model.place(f"{group}[{n}]"), f"{group} {tensor.name}: expected once, got again"
                )
    if model.backend == "dali":
        yield from _strings(model)
    yield from _batch_inputs(model)
    yield from _batch_outputs(model)


def _tensor(model: Model, where: str, tensor: Any) -> Iterator[Finding]:
    name = tensor.name or where
    for field in ("name", "data_type", "dims"):
        if not getattr(tensor, field):
            yield rules.TENSOR_INCOMPLETE.at(model.place(where), f"{name}: expected {field}")
    for field, dims in (("dims", tensor.dims), ("reshape.shape", tensor.reshape.shape)):
        for dim in dims:
            if dim < 1 and dim != -1:
                yield rules.DIM_NOT_POSITIVE.at(
                    model.place(f"{where}.{field}"),
                    f"{name}: expected {field} of 1 or more, or -1, got {dim} in {list(dims)}",
                )
    if tensor.HasField("reshape"):
        yield from _reshape(model, where, tensor)
    if tensor.is_shape_tensor and model.backend != TENSORRT:
        yield rules.SHAPE_TENSOR.at(
            model.place(f"{where}.is_shape_tensor"),
            f"{name}: expected backend tensorrt, got {model.backend}",
        )
    if tensor.is_non_linear_format_io and model.backend != TENSORRT:
        yield rules.NON_LINEAR.at(
            model.place(f"{where}.is_non_linear_format_io"),
            f"{name}: expected backend tensorrt, got {model.backend}",
        )


def _reshape(model: Model, where: str, tensor: Any) -> Iterator[Finding]:
    place = model.place(f"{where}.reshape")
    dims, shape = list(tensor.dims), list(tensor.reshape.shape)
    if not shape and model.config.max_batch_size == 0:
        yield rules.EMPTY_RESHAPE.at(
            place, f"{tensor.name}: expected a shape, as max_batch_size is 0, got none"
        )
    elif dims and min([*dims, *shape], default=1) >= -1 and _parts(dims) != _parts(shape):
        yield rules.RESHAPE_SIZE.at(
            place, f"{tensor.name}: expected as many values as in dims {dims}, got shape {shape}"
        )


def _parts(dims: Sequence[int]) -> list[int]:
    """Values before, between and after the -1s: equal for two shapes that hold the same data."""
    parts = [1]
    for dim in dims:
        if dim == -1:
            parts.append(1)
        else:
            parts[-1] *= dim
    return parts


def _format(model: Model, where: str, tensor: Any) -> Iterator[Finding]:
    names = type(tensor).Format
    layout = names.Name(tensor.format) if tensor.format in names.values() else ""
    if layout not in _SHAPED or len(tensor.dims) == 3:
        return
    dims = list(tensor.dims)
    hint = ""
    if len(dims) == 4 and dims[0] in (1, -1, model.config.max_batch_size):
        hint = f": drop the first dim, {dims[0]}, which is the batch"
    yield rules.FORMAT_DIMS.at(
        model.place(f"{where}.dims", where),
        f"{tensor.name}: expected 3 dims for {layout}, got {dims}{hint}",
    )


def _strings(model: Model) -> Iterator[Finding]:
    for n, tensor in enumerate(model.config.input):
        if type_name(tensor.data_type) == "TYPE_STRING":
            yield rules.STRING_INTO_DALI.at(
                model.place(f"input[{n}].data_type"),
                f"{tensor.name}: expected TYPE_UINT8 with dims [-1], got TYPE_STRING",
            )


def _batch_inputs(model: Model) -> Iterator[Finding]:
    inputs = [tensor.name for tensor in model.config.input]
    for n, batch in enumerate(model.config.batch_input):
        place = model.place(f"batch_input[{n}]")
        yield from _kind(model, place, batch)
        data_type = type_name(batch.data_type)
        if data_type not in ("TYPE_INT32", "TYPE_FP32"):
            yield rules.BATCH_INPUT.at(
                place, f"batch_input: expected data_type TYPE_INT32 or TYPE_FP32, got {data_type}"
            )
        for fault in _sources(batch.source_input, inputs):
            yield rules.BATCH_INPUT.at(place, f"batch_input: {fault}")


def _kind(model: Model, place: Place, batch: Any) -> Iterator[Finding]:
    if batch.kind not in batch.Kind.values():
        names = ", ".join(batch.Kind.keys())
        yield rules.UNNAMED_NUMBER.at(place, f"kind: expected one of {names}, got {batch.kind}")


def _sources(sources: Any, inputs: Sequence[str]) -> Iterator[str]:
    if len(sources) != 1:
        yield f"expected 1 source_input, got {len(sources)}"
    for source in sources:
        if source not in inputs:
            yield f"source_input: expected one of {', '.join(inputs)}, got {source}"


def _batch_outputs(model: Model) -> Iterator[Finding]:
    inputs = [tensor.name for tensor in model.config.input]
    outputs = [tensor.name for tensor in model.config.output]
    for n, batch in enumerate(model.config.batch_output):
        place = model.place(f"batch_output[{n}]")
        yield from _kind(model, model.place(f"batch_output[{n}]"), batch)
        faults = list(_sources(batch.source_input, inputs))
        if not batch.target_name:  # a live 2.51 dies of it
            faults.append("expected a target_name, got none")
        for target, count in Counter(batch.target_name).items():
            if target not in outputs:
                faults.append(f"target_name: expected one of {', '.join(outputs)}, got {target}")
            elif count > 1:
                faults.append(f"target_name {target}: expected once, got {count} times")
        for fault in faults:
            yield rules.BATCH_OUTPUT.at(place, f"batch_output: {fault}")

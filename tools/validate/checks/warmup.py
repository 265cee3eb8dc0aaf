"""Do the warm-up requests fit the model?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.validate.checks.data import dims_faults, file_faults
from tools.validate.checks.names import type_name
from tools.validate.findings import Finding
from tools.validate.polled import Model
from tools.validate.rules import configuration as rules


def check(model: Model) -> Iterator[Finding]:
    """Source: Triton's backend_model_instance.cc; a sample of batch_size 0 is passed over."""
    if model.is_ensemble:
        return
    for n, sample in enumerate(model.config.model_warmup):
        if sample.batch_size == 0:
            continue
        for fault in _sample(model, sample):
            yield rules.MODEL_WARMUP.at(
                model.place(f"model_warmup[{n}]"), f"model_warmup {sample.name!r}: {fault}"
            )


def _sample(model: Model, sample: Any) -> Iterator[str]:
    largest = model.config.max_batch_size
    if sample.batch_size > max(1, largest):
        yield f"expected batch_size of at most {max(1, largest)}, got {sample.batch_size}"
    known = {tensor.name: tensor for tensor in model.config.input}
    required = {name for name, tensor in known.items() if not tensor.optional}
    if missing := sorted(required - set(sample.inputs)):
        yield f"expected the inputs {', '.join(sorted(required))}, got none of {', '.join(missing)}"
    elif not sample.inputs:
        yield "expected an input, got none"
    for name, value in sample.inputs.items():
        if name in known:  # others are passed over
            yield from _input(model, known[name], value)


def _input(model: Model, tensor: Any, value: Any) -> Iterator[str]:
    if value.data_type != tensor.data_type:
        expected, got = type_name(tensor.data_type), type_name(value.data_type)
        yield f"{tensor.name}: expected {expected}, got {got}"
    for fault in dims_faults(value.dims, tensor.dims):
        yield f"{tensor.name}: {fault}"
    source = value.WhichOneof("input_data_type")
    if source is None:
        yield f"{tensor.name}: expected zero_data, random_data or input_data_file"
    elif source == "input_data_file" and model.directory is not None:
        folder, data_type = model.directory / "warmup", type_name(value.data_type)
        for fault in file_faults(folder, value.input_data_file, data_type, value.dims):
            yield f"{tensor.name}: {fault}"

"""The sequence batcher's controls and states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.validate.checks.batching import preferred_of_oldest
from tools.validate.checks.data import dims_faults, file_faults
from tools.validate.checks.names import name_of, type_name
from tools.validate.findings import Finding
from tools.validate.polled import Model
from tools.validate.rules import configuration as rules

_FLAGS = ("int32_false_true", "fp32_false_true", "bool_false_true")
_FLAGGED = ("CONTROL_SEQUENCE_START", "CONTROL_SEQUENCE_END", "CONTROL_SEQUENCE_READY")
_CORRELATION = "CONTROL_SEQUENCE_CORRID"
_CORRELATION_TYPES = ("TYPE_UINT64", "TYPE_INT64", "TYPE_UINT32", "TYPE_INT32", "TYPE_STRING")
_AT = "sequence_batching.control_input[{}]"


def check(model: Model) -> Iterator[Finding]:
    """Source: Triton's model_config_utils.cc and sequence_batch_scheduler.cc."""
    if not model.config.HasField("sequence_batching"):
        return
    batching = model.config.sequence_batching
    yield from preferred_of_oldest(model)
    share = batching.direct.minimum_slot_utilization
    if share < 0 or share > 1:
        yield rules.SLOT_UTILIZATION.at(
            model.place("sequence_batching.direct.minimum_slot_utilization"),
            f"minimum_slot_utilization: expected 0 to 1, got {share:g}",
        )
    yield from _controls(model)
    for n, state in enumerate(batching.state):
        yield from _state(model, n, state)


def _controls(model: Model) -> Iterator[Finding]:
    seen: set[str] = set()
    names = [tensor.name for tensor in model.config.sequence_batching.control_input]
    for n, tensor in enumerate(model.config.sequence_batching.control_input):
        where = _AT.format(n)
        if not tensor.name:
            yield rules.SEQUENCE_CONTROL.at(model.place(where), "a control: expected a name")
        elif tensor.name in names[:n]:
            yield rules.SEQUENCE_CONTROL.at(
                model.place(where), f"control tensor {tensor.name}: expected once, got again"
            )
        for m, control in enumerate(tensor.control):
            kind = name_of(control.Kind, control.kind)
            place = model.place(f"{where}.control[{m}].kind", f"{where}.control[{m}]", where)
            if kind in seen:
                yield rules.SEQUENCE_CONTROL.at(place, f"{kind}: expected once, got again")
            seen.add(kind)
            if kind not in (*_FLAGGED, _CORRELATION):  # Triton passes over what it does not know
                continue
            fault = _correlation(control) if kind == _CORRELATION else _flags(control)
            if fault:
                yield rules.SEQUENCE_CONTROL.at(place, f"{kind} of {tensor.name!r}: {fault}")


def _flags(control: Any) -> str:
    given = [name for name in _FLAGS if len(getattr(control, name))]
    if len(given) != 1:
        return f"expected exactly one of {', '.join(_FLAGS)}, got {', '.join(given) or 'none'}"
    count = len(getattr(control, given[0]))
    return "" if count == 2 else f"{given[0]}: expected 2 values, false and true, got {count}"


def _correlation(control: Any) -> str:
    if any(len(getattr(control, name)) for name in _FLAGS):
        return f"expected none of {', '.join(_FLAGS)}"
    data_type = type_name(control.data_type)
    if data_type not in _CORRELATION_TYPES:
        return f"data_type: expected one of {', '.join(_CORRELATION_TYPES)}, got {data_type}"
    return ""


def _state(model: Model, n: int, state: Any) -> Iterator[Finding]:
    where = f"sequence_batching.state[{n}]"
    for fault in _initial(model, state):
        yield rules.INITIAL_STATE.at(
            model.place(f"{where}.initial_state[0]", where), f"state {state.input_name!r}: {fault}"
        )


def _initial(model: Model, state: Any) -> Iterator[str]:
    if len(state.initial_state) > 1:
        yield f"expected at most one initial_state, got {len(state.initial_state)}"
    for initial in state.initial_state[:1]:
        if not initial.name:
            yield "expected a name of the initial_state"
        if initial.data_type != state.data_type:
            expected, got = type_name(state.data_type), type_name(initial.data_type)
            yield f"expected initial_state of {expected}, got {got}"
        dims, wanted = list(initial.dims), list(state.dims)
        yield from (f"initial_state: {fault}" for fault in dims_faults(dims, wanted))
        if initial.WhichOneof("state_data") is None:
            yield "expected zero_data or data_file in initial_state"
        if initial.data_file and model.directory:
            folder = model.directory / "initial_state"
            data_type = type_name(state.data_type)
            yield from file_faults(folder, initial.data_file, data_type, dims)

"""The process that checks models: requests on stdin, findings on stdout, one a line.

It is a process of its own because the file may be hostile: it may crash ONNX Runtime, take all
memory or never end. What it says before that stays said.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

import onnx
import onnxruntime

from tools.validate.findings import Finding, Place, errors
from tools.validate.model import graph as g
from tools.validate.model import memory
from tools.validate.model.config import (
    check_config,
    check_inferred,
    filled_by_batch,
    is_ragged,
    shape_of,
)
from tools.validate.model.dynamic import Task, check_dynamic, check_loading
from tools.validate.model.prove import Say
from tools.validate.model.request import (
    COMPLETED_MAX_BATCH_SIZE,
    DEFAULT_MAX_BATCH_SIZE,
    ModelUnderTest,
    decode,
)
from tools.validate.model.static import check_static
from tools.validate.releases import takes
from tools.validate.rules import onnx as rules

STOPS_A_RUN = {rules.UNKNOWN_OPERATOR, rules.CUSTOM_OPERATOR, rules.WEIGHTS_MISSING} | {
    rules.WEIGHTS_ESCAPE,
    rules.OUTPUT_ABSENT,
    rules.SHAPE_UNKNOWN,
    rules.NOT_A_TENSOR,
    rules.NO_BATCH_AXIS,
}


UNPROVED = {rules.NOT_RUN, rules.NO_INPUT_FITS}


@dataclass(frozen=True)
class Facts:
    """What is kept of a model that was read: the model itself is large.

    Attributes:
        fixed: inputs and outputs whose first dimension is a number, with that number.
        opset: of ONNX's own domain.
        ir_version: of the file.
        depth: nodes on the longest path.
        model_bytes: of the file and its external data.
        largest_batch: that the server may make; 0 if none, below 0 if that is what is written.
        could_batch: the first dimension of every input and output is free.
        dims_differ: from those of the configuration, as the file declares them.
    """

    fixed: dict[str, int]
    opset: int
    ir_version: int
    depth: int
    model_bytes: int
    largest_batch: int
    could_batch: bool
    dims_differ: bool


def check(under_test: ModelUnderTest, say: Say) -> Iterator[Finding]:
    """Everything about one model."""
    place = Place(under_test.path)
    found: list[Finding] = []
    try:
        facts = _read(under_test, found)
    except g.Unreadable as unreadable:
        yield rules.UNREADABLE.at(place, str(unreadable))
        return
    yield from found
    if facts.largest_batch < 0:  # the server refuses the configuration, whatever the model does
        return
    reason = _not_run(under_test, facts, found)
    if reason:
        lacks_axis = rules.NO_BATCH_AXIS in [finding.rule for finding in found]
        if facts.fixed and facts.largest_batch and not lacks_axis:
            yield rules.FIXED_BATCH.at(place, _list(facts.fixed))
        yield rules.NOT_RUN.at(place, reason)
    elif under_test.config is not None and is_ragged(under_test.config):
        yield from check_loading(_task(under_test, facts, say, 0))
        yield rules.NOT_RUN.at(place, "the server puts requests of unequal length together")
    elif facts.largest_batch:
        yield from _run(under_test, facts, say)
    else:
        yield from _unbatched(under_test, facts, say)


def _read(under_test: ModelUnderTest, found: list[Finding]) -> Facts:
    """Reads the model, adds what is wrong as it is written to ``found``, and lets it go again."""
    model = g.read(under_test.path)
    largest = _largest_batch(under_test, model)
    found.extend(_before_running(under_test, model, largest))
    opsets = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    folder = under_test.path.parent
    files = {under_test.path, *(folder / each.location for each in g.externals(model))}
    config = under_test.config
    computed = filled_by_batch(config) if config is not None else set()
    return Facts(
        {name: n for name, n in g.fixed_batch(model).items() if name not in computed},
        max(opsets, default=0),
        model.ir_version,
        g.depth(model.graph),
        sum(path.stat().st_size for path in files if path.is_file()),
        largest,
        g.could_batch(model),
        rules.CONFIG_DIMS in [finding.rule for finding in found],
    )


def _largest_batch(under_test: ModelUnderTest, model: onnx.ModelProto) -> int:
    """As configured, or as the server would complete the configuration."""
    if under_test.is_completed and g.could_batch(model):
        return COMPLETED_MAX_BATCH_SIZE
    return under_test.largest_batch


def _before_running(
    under_test: ModelUnderTest, model: onnx.ModelProto, largest: int
) -> Iterator[Finding]:
    place = Place(under_test.path)
    yield from check_static(under_test, model)
    if under_test.config is not None and largest >= 0:
        yield from check_config(place, model, under_test.config, largest > 0)
    if largest > 0:
        yield from _batch_axes(place, model)


def _batch_axes(place: Place, model: onnx.ModelProto) -> Iterator[Finding]:
    """Inputs without a batch axis: scalars, and a number where the others are free."""
    shapes = {value.name: g.dims(value) for value in g.real_inputs(model.graph)}
    firsts = {name: shape[0] if shape else None for name, shape in shapes.items()}
    common = next((n for n in firsts.values() if isinstance(n, int)), 1)
    has_free = any(shape and not isinstance(shape[0], int) for shape in shapes.values())
    for name, shape in shapes.items():
        first = firsts[name]
        is_other = isinstance(first, int) and first != (1 if has_free else common)
        if shape == [] or is_other:
            yield rules.NO_BATCH_AXIS.at(place, f"input {name!r} {g.show(shape)}")


def _not_run(under_test: ModelUnderTest, facts: Facts, found: Sequence[Finding]) -> str:
    """Why the model is not run; empty if it is."""
    if not under_test.run:
        return "running was not asked for"
    stopping = {finding.rule.code for finding in found if finding.rule in STOPS_A_RUN}
    if stopping:
        return f"because of {', '.join(sorted(stopping))}"
    here = takes(onnxruntime.__version__)
    if here and (facts.opset > here.opset or facts.ir_version > here.ir_version):
        return (
            f"ONNX Runtime {onnxruntime.__version__} here takes opset {here.opset} and IR version "
            f"{here.ir_version}, the model has {facts.opset} and {facts.ir_version}"
        )
    return ""


def _run(under_test: ModelUnderTest, facts: Facts, say: Say) -> Iterator[Finding]:
    """Runs it with its batch axis free, whatever it declares: is it more than the declaration?"""
    found = tuple(check_dynamic(_task(under_test, facts, say, facts.largest_batch)))
    if not facts.fixed:
        yield from found
        return
    place, shown = Place(under_test.path), _list(facts.fixed)
    ran = next((f"it {each.message}" for each in found if each.rule is rules.BATCHES), "it runs")
    of_the_model = tuple(each for each in found if each.rule is not rules.CONFIG_DIMS)
    if errors(of_the_model) or UNPROVED & {finding.rule for finding in found}:
        yield rules.FIXED_BATCH.at(place, shown)
    else:
        message = f"{shown}; fixable metadata: with -1 there {ran}"
        yield rules.FIXED_BATCH_METADATA.at(place, message)
    yield from (finding for finding in found if finding.rule is not rules.BATCHES)


def _unbatched(under_test: ModelUnderTest, facts: Facts, say: Say) -> Iterator[Finding]:
    """Loads and runs it as it is declared; of its batches only that it could."""
    found = tuple(check_dynamic(_task(under_test, facts, say, 0)))
    yield from found
    if found or not facts.could_batch:
        return
    asked = _task(under_test, facts, say, DEFAULT_MAX_BATCH_SIZE)
    if rules.BATCHES in [finding.rule for finding in check_dynamic(asked)]:
        yield rules.CONFIG_NOT_BATCHING.at(
            Place(under_test.path), "config.pbtxt has max_batch_size 0 or none; the model batches"
        )


def _task(under_test: ModelUnderTest, facts: Facts, say: Say, most: int) -> Task:
    def fits(shapes: dict[str, list[g.Dim]]) -> Iterable[Finding]:
        if under_test.config is None or facts.dims_differ:
            return ()
        batches = facts.largest_batch > 0
        return check_inferred(Place(under_test.path), shapes, under_test.config, batches)

    return Task(
        Place(under_test.path),
        g.Source(under_test.path, frozenset(facts.fixed if most else ())),
        facts.depth,
        _sizes(under_test, facts, most),
        most,
        memory.allowed_bytes(facts.model_bytes, under_test.memory_bytes),
        say,
        under_test.reference,
        fits,
    )


def _sizes(under_test: ModelUnderTest, facts: Facts, most: int) -> dict[str, tuple[int, ...]]:
    """Configured dimensions, with 1 for the batch where there is one."""
    tensors = under_test.config.input if under_test.config is not None else ()
    shapes = {tensor.name: shape_of(tensor) for tensor in tensors}
    if not most:
        return shapes
    has_batch_axis = not facts.largest_batch
    return {name: (1, *shape[has_batch_axis:]) for name, shape in shapes.items()}


def _list(fixed: dict[str, int]) -> str:
    shown = ", ".join(f"{name!r} ({size})" for name, size in fixed.items())
    return f"first dimension is a number, expected -1: {shown}"


def main(stdin: TextIO, stdout: TextIO) -> None:
    """Answers each request; its last line is ``["end"]``."""
    onnxruntime.set_default_logger_severity(4)

    def tell(kind: str, *words: str) -> None:
        print(json.dumps([kind, *words]), file=stdout, flush=True)

    for line in stdin:
        under_test = decode(line)
        memory.limit_address_space(under_test.path.parent, under_test.memory_bytes)
        for finding in check(under_test, lambda what: tell("stage", what)):
            tell("finding", finding.rule.code, finding.message)
        tell("end")


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)

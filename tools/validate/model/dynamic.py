"""What running a model shows, as findings that name the guilty node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

from tools.validate.findings import Finding, Place, Rule
from tools.validate.model import blame, inputs
from tools.validate.model import graph as g
from tools.validate.model.compare import Noise, distance
from tools.validate.model.prove import Fault, NothingFits, Proof, Prover, Say, batch_that_runs
from tools.validate.model.session import Refused, Session, stack
from tools.validate.rules import onnx as rules

DYNAMIC_QUANTISERS = {
    "DynamicQuantizeLinear",
    "DynamicQuantizeMatMul",
    "DynamicQuantizeLSTM",
    "MatMulIntegerToFloat",
}
# A least difference before them can become a step behind them.
THRESHOLDS = {"QuantizeLinear", "Round", "Floor", "Ceil", "Cast", "Sign", "TopK", "NonZero"} | {
    *("ArgMax", "ArgMin", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"),
    *("QLinearConv", "QLinearMatMul", "QLinearAdd", "Hardmax", "BitCast", "Compress"),
}


@dataclass(frozen=True)
class Task:
    """A run that was asked for.

    Attributes:
        place: the file.
        source: the model as it is run.
        depth: nodes on its longest path.
        sizes: input name to its configured dimensions, 1 for the batch, where some are.
        most: the largest batch; 0 where it need not batch.
        allowed_bytes: of memory.
        say: told what is about to be done.
        reference: a model that it has to agree with.
        fits: findings about the shapes of the outputs, as ONNX Runtime infers them.
    """

    place: Place
    source: g.Source
    depth: int
    sizes: dict[str, tuple[int, ...]]
    most: int
    allowed_bytes: int
    say: Say
    reference: Path | None = None
    fits: Callable[[dict[str, list[g.Dim]]], Iterable[Finding]] = lambda shapes: ()


def check_loading(task: Task) -> Iterator[Finding]:
    """Only whether it loads."""
    task.say("loading")
    try:
        Session(task.source.loadable(), task.place.path.parent)
    except Refused as refused:
        yield rules.LOAD_REFUSED.at(task.place, f"ONNX Runtime: {refused}")


def check_dynamic(task: Task) -> Iterator[Finding]:
    """Loads, runs, compares."""
    task.say("loading")
    try:
        session = Session(task.source.loadable(), task.place.path.parent)
    except Refused as refused:
        yield rules.LOAD_REFUSED.at(task.place, f"ONNX Runtime: {refused}")
        return
    yield from task.fits(session.shapes)
    if unknown := inputs.unsupported(session):
        yield rules.NOT_RUN.at(task.place, f"no arrays of the type of {', '.join(unknown)}")
        return
    try:
        prover = Prover(session, task.depth, task.sizes, task.say)
        proof = prover.prove(task.most, task.allowed_bytes)
    except NothingFits as refused:
        yield _nothing_fits(task, session, refused)
        return
    except Refused as refused:
        why = "out of memory" if refused.is_memory else "it ran, and then refused the same input"
        yield rules.UNCHECKABLE.at(task.place, f"{why}, on one item: {refused}")
        return
    inferred = session.shapes
    del session, prover
    yield from _declared(task, proof)
    yield from _faults(task, proof)
    if task.most and not proof.faults:
        yield from _against_reference(task, proof)
        yield from _verdict(task, proof, inferred)


def _nothing_fits(task: Task, session: Session, refused: NothingFits) -> Finding:
    size = task.most and batch_that_runs(session, refused.items)
    if not size:
        return rules.NO_INPUT_FITS.at(task.place, f"ONNX Runtime: {refused}")
    message = f"runs at batch {size} and not at 1: {refused}"
    case = blame.Case(task.source, refused.items, (0,), Noise(task.depth, {}))
    node = blame.refusing_node(case)
    return rules.BATCH_REFUSED.at(task.place, _naming(node) + message)


def _declared(task: Task, proof: Proof) -> Iterator[Finding]:
    at_fault = {fault.output for fault in proof.faults}
    shapes = {name: shape for name, shape in proof.shapes.items() if name not in at_fault}
    for output in task.source.model().graph.output:
        declared, got = g.dims(output), shapes.get(output.name)
        if declared is None or got is None:
            continue
        agree = len(declared) == len(got) and all(
            not isinstance(dim, int) or dim == size for dim, size in zip(declared, got, strict=True)
        )
        if not agree:
            yield rules.OUTPUT_SHAPE.at(
                task.place,
                f"output {output.name!r}: declared {g.show(declared)}, one item gives {list(got)}",
            )


def _faults(task: Task, proof: Proof) -> Iterator[Finding]:
    """One finding for each rule and node, naming every output that shows it."""
    grouped: dict[tuple[str, str], list[tuple[Rule, Fault]]] = {}
    for fault in proof.faults:
        task.say(f"the guilty node of {fault.output!r}")
        case = blame.Case(task.source, proof.items, fault.order, proof.noise)
        node = _guilty(case, fault)
        rule = _rule(case, fault, node)
        grouped.setdefault((rule.code, _naming(node)), []).append((rule, fault))
    for (_, naming), found in grouped.items():
        rule, fault = found[0]
        outputs = ", ".join(repr(each.output) for _, each in found if each.output)
        shown = f"output {outputs}: " if outputs else ""
        yield rule.at(task.place, naming + shown + fault.message)


def _guilty(case: blame.Case, fault: Fault) -> onnx.NodeProto | None:
    """The node; none where the inside can't be looked at, or nothing in it is wrong as written."""
    try:
        if fault.rule is rules.RANDOM:
            return blame.random_node(case, fault.output)
        if fault.rule is rules.NOT_FINITE:
            nan = blame.breaking_node(case, fault.output, np.isnan)
            return nan or blame.breaking_node(case, fault.output, np.isinf)
        if fault.rule is rules.BATCH_REFUSED:
            return blame.refusing_node(case)
        if fault.rule in (rules.ROW_COUNT, rules.SHAPE_FOLLOWS_BATCH):
            return _counting(case, fault.output)
        return _mixing(case, fault.output)
    except Refused:
        return None


def _mixing(case: blame.Case, output: str) -> onnx.NodeProto | None:
    """The one that laid all items into one row, where it is only that which is mixed along."""
    node = blame.mixing_node(case, output)
    if node is None or node.op_type in DYNAMIC_QUANTISERS:
        return node
    return blame.collapsing_node(case, node) or node


def _counting(case: blame.Case, output: str) -> onnx.NodeProto | None:
    """Seen in company if the model runs in company, else alone."""
    try:
        company = case if len(case.order) > 1 else replace(case, order=(0, 1, 2))
        return blame.counting_node(company, output)
    except Refused:
        return blame.counting_node(replace(case, order=(0,)), output)


def _rule(case: blame.Case, fault: Fault, node: onnx.NodeProto | None) -> Rule:
    """A leak by its cause: quantisation over the batch, and noise at a threshold, are others."""
    if fault.rule is not rules.LEAK or node is None:
        return fault.rule
    if node.op_type in DYNAMIC_QUANTISERS:
        return rules.BATCH_QUANTISED
    if node.op_type in THRESHOLDS and blame.is_tie(case, node):
        return rules.ROUNDING_TIE
    return fault.rule


def _naming(node: onnx.NodeProto | None) -> str:
    return "" if node is None else f"{g.label(node)}: "


def _against_reference(task: Task, proof: Proof) -> Iterator[Finding]:
    """Both on one batch, of the size that the reference declares."""
    if task.reference is None:
        return
    fixed = g.fixed_batch(g.read(task.reference))
    rows = next((fixed[name] for name in proof.items[0] if name in fixed), 1)
    batch = stack(proof.items, [row % len(proof.items) for row in range(rows)])
    ours = Session(task.source.loadable(), task.place.path.parent).run(batch)
    try:
        theirs = Session(task.reference, task.reference.parent).run(batch)
    except Refused as refused:
        yield rules.REFERENCE_DIFFERS.at(task.place, f"{task.reference} does not run: {refused}")
        return
    for name, value in theirs.items():
        gap = distance(ours[name], value)
        if gap > proof.noise.bound(name, [value]):
            message = f"output {name!r} differs by {gap:.3g} from {task.reference} at batch {rows}"
            yield rules.REFERENCE_DIFFERS.at(task.place, message)


def _verdict(task: Task, proof: Proof, inferred: dict[str, list[g.Dim]]) -> Iterator[Finding]:
    """What Triton makes of a model that batches: it reads the shapes that ONNX Runtime infers."""
    if max(proof.sizes) < task.most:
        yield rules.SIZE_CAPPED.at(
            task.place,
            f"batch {task.most} was asked for and {max(proof.sizes)} is the largest that ran: "
            f"{proof.costs}",
        )
    for name in sorted(name for name, shape in inferred.items() if not shape):
        seen = list(proof.shapes[name])
        yield rules.SHAPE_UNKNOWN.at(task.place, f"output {name!r}, for one item {seen}")
    ran = (
        f"ran at {_sizes(proof.sizes)}; alone and in company answers differ by "
        f"{proof.largest_difference:.1g} of the largest value, rounding noise of a path of "
        f"{proof.noise.depth} nodes may reach {proof.largest_bound:.1g}"
    )
    fixed = {name: shape for name, shape in inferred.items() if shape and type(shape[0]) is int}
    if fixed:
        shown = ", ".join(f"output {name!r} {g.show(shape)}" for name, shape in fixed.items())
        message = f"from the shapes noted inside the model ONNX Runtime infers {shown}"
        yield rules.FIXED_BATCH_METADATA.at(task.place, f"{message}; fixable metadata: it {ran}")
    elif proof.indifferent:
        yield rules.INDIFFERENT.at(task.place, f"{len(proof.items)} items had one answer; it {ran}")
    else:
        yield rules.BATCHES.at(task.place, ran)


def _sizes(sizes: Sequence[int]) -> str:
    *most, last = map(str, sizes)
    return f"{', '.join(most)} and {last}" if most else last

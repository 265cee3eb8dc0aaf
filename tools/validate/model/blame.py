"""Which node is guilty: the first, in the graph's order, whose output is already wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx

from tools.validate.model import graph as g
from tools.validate.model.compare import Noise, distance, is_explained
from tools.validate.model.session import Array, Feeds, Refused, Session, stack

TENSORS_AT_ONCE = 16
# Of shapes: their values follow the batch size by right.
SHAPE_OPERATORS = {"Shape", "Size"}
# In training mode it updates its running mean and variance, in place.
STATEFUL = {"BatchNormalization"}

Seen = list[Array | None]
"""One tensor, once for each run; None where it is no array."""
Test = Callable[[str, Seen], bool]


@dataclass(frozen=True)
class Case:
    """What went wrong, to be repeated with the inside of the model in view.

    Attributes:
        source: the model.
        items: single items.
        order: which of them were in the batch, and where.
        noise: the bound.
    """

    source: g.Source
    items: Sequence[Feeds]
    order: tuple[int, ...]
    noise: Noise

    @property
    def folder(self) -> Path:
        """Where external data lie."""
        return self.source.path.parent

    @property
    def feeds(self) -> list[Feeds]:
        """The batch, then each of its items alone."""
        return [stack(self.items, self.order), *(self.items[item] for item in self.order)]


def mixing_node(case: Case, output: str) -> onnx.NodeProto | None:
    """The first whose output for the batch is not made of its outputs for each item alone."""
    model = case.source.model()
    shapes_only = _from_shapes(model.graph)
    # The bound was measured at the outputs; what lies before has gathered no more noise.
    inside = replace(case.noise, sensitivity={})

    def mixes(name: str, seen: Seen) -> bool:
        arrays = [array for array in seen if array is not None]
        if name in shapes_only or len(arrays) < len(seen):
            return False
        batch, *alone = arrays
        return not is_explained(batch, alone, inside.bound(name, alone))

    return _first(case, model, {output}, case.feeds, mixes)


def is_tie(case: Case, node: onnx.NodeProto) -> bool:
    """Whether what a node reads differs by noise at least, so that a threshold may have tipped."""
    model = case.source.model()
    made = {name for each in model.graph.node for name in each.output}
    names = [name for name in node.input if name in made - _from_shapes(model.graph)]
    for _, seen in _runs(case, model, names, case.feeds):
        arrays = [array for array in seen if array is not None]
        if len(arrays) == len(seen) and not is_explained(arrays[0], arrays[1:], 0.0):
            return True
    return False


def random_node(case: Case, output: str) -> onnx.NodeProto | None:
    """The first that gives two answers to one input."""

    def differs(name: str, seen: Seen) -> bool:
        first, *_, last = seen
        return first is not None and last is not None and distance(first, last) > 0

    model, (item, other) = case.source.model(), case.items[:2]
    found = _first(case, model, {output}, [item, other, item], differs)
    return found or _stateful_node(case, model, output)


def _stateful_node(case: Case, model: onnx.ModelProto, output: str) -> onnx.NodeProto | None:
    """One that changes weights; optimised, other nodes may share them, and the answer changes."""
    for node in g.ancestors(model.graph, {output}):
        if node.op_type in STATEFUL:
            feeds = [*case.items[:2], case.items[0]]
            (_, seen), *_ = _runs(case, model, [node.output[0]], feeds, optimise=True)
            first, _, last = seen
            if first is not None and last is not None and distance(first, last) > 0:
                return node
    return None


def breaking_node(case: Case, output: str, test: Callable[[Array], Array]) -> onnx.NodeProto | None:
    """The first that makes NaN, or infinity, of the batch.

    Args:
        case: the batch.
        output: where it was seen.
        test: ``numpy.isnan`` or ``numpy.isinf``.
    """

    def breaks(name: str, seen: Seen) -> bool:
        array = seen[0]
        return array is not None and array.dtype.kind == "f" and bool(test(array).any())

    return _first(case, case.source.model(), {output}, case.feeds[:1], breaks)


def counting_node(case: Case, output: str) -> onnx.NodeProto | None:
    """The one that loses the rows: followed back from the output while they are not there.

    Where the output has them along another axis than the first, or along two, followed back while
    that is so: to the node that turned or crossed them.
    """
    model = case.source.model()
    nodes = g.ancestors(model.graph, {output})
    maker = {name: node for node in nodes for name in node.output if name}
    if output not in maker:
        return None
    runs = _runs(case, model, list(maker), case.feeds)
    axes = {name: _row_axes(seen, len(case.order)) for name, seen in runs}
    lost = {name for name, found in axes.items() if _is_lost(found, axes[output])}
    lost -= _from_shapes(model.graph) | _constant(model.graph)
    node = maker[output]
    while before := next((name for name in node.input if name in lost), None):
        node = maker[before]
    return node


def refusing_node(case: Case) -> onnx.NodeProto | None:
    """The one that ONNX Runtime stops at, or one before it that had already spoilt the batch."""
    model = case.source.model()
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"#{number}"
    names = {node.name: node for node in model.graph.node}
    try:
        session = Session(model.SerializeToString(), case.folder, optimise=False)
        session.run(case.feeds[0])
    except Refused as refused:
        node = names.get(refused.node[1]) if refused.node else None
        return None if node is None else _spoilt_before(case, model, node) or _original(case, node)
    return None


def _original(case: Case, node: onnx.NodeProto) -> onnx.NodeProto:
    """With the name it has in the file."""
    if node.name.startswith("#"):
        node.name = ""
    return node


def _spoilt_before(
    case: Case, model: onnx.ModelProto, node: onnx.NodeProto
) -> onnx.NodeProto | None:
    made = {name for each in model.graph.node for name in each.output}
    read = {name for name in node.input if name in made}
    read -= _from_shapes(model.graph) | _constant(model.graph)
    if not read:
        return None
    try:
        for name in sorted(read):
            guilty = mixing_node(case, name)
            if guilty is not None:
                return guilty
        return collapsing_node(case, node)
    except Refused:
        return None


def collapsing_node(case: Case, reader: onnx.NodeProto) -> onnx.NodeProto | None:
    """The one that laid all items into one row, of which what a node reads is still made."""
    model = case.source.model()
    read = {name for name in reader.input if name}
    nodes = g.ancestors(model.graph, read)
    maker = {name: node for node in nodes for name in node.output if name}
    known = _from_shapes(model.graph) | _constant(model.graph)

    def in_one_row(names: set[str]) -> set[str]:
        wanted = [name for name in maker if name in names - known]
        return {name for name, seen in _runs(case, model, wanted, case.feeds) if _is_one_row(seen)}

    node, found = None, in_one_row(read)
    rows = in_one_row(set(maker)) if found else found
    while found:
        node = maker[min(found)]
        found = rows.intersection(node.input)
    return node


def _first(
    case: Case, model: onnx.ModelProto, wanted: set[str], feeds: Sequence[Feeds], test: Test
) -> onnx.NodeProto | None:
    nodes = g.ancestors(model.graph, wanted)
    maker = {name: node for node in nodes for name in node.output if name}
    for name, seen in _runs(case, model, list(maker), feeds):
        if test(name, seen):
            return maker[name]
    return None


def _runs(
    case: Case,
    model: onnx.ModelProto,
    tensors: list[str],
    feeds: Sequence[Feeds],
    optimise: bool = False,
) -> Iterator[tuple[str, Seen]]:
    """Each tensor of the model as it is in each run; a few at once, since all may be large."""
    for start in range(0, len(tensors), TENSORS_AT_ONCE):
        names = tensors[start : start + TENSORS_AT_ONCE]
        session = Session(g.expose(model, names), case.folder, optimise)
        taken = {wanted.name for wanted in session.inputs}
        runs = [session.run({k: v for k, v in one.items() if k in taken}) for one in feeds]
        del session
        for name in names:
            yield name, [run.pop(name, None) for run in runs]


def _row_axes(seen: Seen, rows: int) -> set[int]:
    """The axes that are as long as the batch, and 1 for an item alone."""
    arrays = [array for array in seen if array is not None]
    if len(arrays) < len(seen) or len({array.ndim for array in arrays}) > 1:
        return set()
    batch, *alone = (array.shape for array in arrays)
    return {
        axis
        for axis, size in enumerate(batch)
        if size == rows and all(one[axis] == 1 for one in alone)
    }


def _is_one_row(seen: Seen) -> bool:
    """Whether the first axis is 1 for the batch as it is alone, and another holds every item.

    A batch along the second axis, as sequence models have it, is none.
    """
    arrays = [array for array in seen if array is not None]
    if len(arrays) < max(len(seen), 3) or any(array.ndim == 0 for array in arrays):
        return False
    batch, *alone = arrays
    return (
        all(len(array) == 1 for array in arrays)
        and not _row_axes(seen, len(alone))
        and batch.size > 0
        and batch.size == sum(one.size for one in alone)
    )


def _is_lost(axes: set[int], at_output: set[int]) -> bool:
    """Whether rows are missing, turned or crossed, as they are at the output."""
    if len(at_output) > 1:
        return len(axes) > 1
    return 0 not in axes if at_output else not axes


def _from_shapes(graph: onnx.GraphProto) -> set[str]:
    """Tensors computed from shapes and constants only."""
    known = _constant(graph)
    found: set[str] = set()
    for node in graph.node:
        reads = g.used_names(node)
        if node.op_type in SHAPE_OPERATORS or (reads & found and reads <= known | found):
            found.update(node.output)
    return found


def _constant(graph: onnx.GraphProto) -> set[str]:
    known = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        if g.used_names(node) <= known and not node.op_type.startswith("Random"):
            known.update(node.output)
    return known

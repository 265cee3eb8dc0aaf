"""Writes a model anew with a free batch axis, where only what it declares was in the way."""

from __future__ import annotations

import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from ensemble.errors import ContractMismatch
from tools.validate.findings import Severity
from tools.validate.model import graph as g
from tools.validate.model.check import check_model
from tools.validate.model.request import ModelUnderTest
from tools.validate.model.weights import save
from tools.validate.releases import RELEASES, Release


def fix(path: Path, out: Path, release: Release = RELEASES[-1]) -> tuple[str, ...]:
    """Frees the batch axis and proves that the result batches.

    First the declared shapes alone are freed; where that is not enough, also each Reshape to a
    constant that begins with the fixed batch. The result is run alone and in company, and against
    the original. External data are copied beside the result.

    Args:
        path: the ONNX file; it is not changed.
        out: the new file. It appears whole, or not at all.
        release: the Triton that is to load it.

    Returns:
        What was changed, one line each.

    Raises:
        ContractMismatch: ``out`` exists, the model batches already, or the fault lies deeper than
            in the declared shapes.
    """
    if not out.parent.is_dir() or out.exists():
        got = "a file that exists" if out.parent.is_dir() else "no such folder"
        raise ContractMismatch(f"{out}: expected a new file in a folder that exists, got {got}")
    try:
        model = g.read(path)
    except g.Unreadable as unreadable:
        raise ContractMismatch(f"{path}: {unreadable}") from unreadable
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".mending-") as folder:
        written = Path(folder) / out.name
        changes = _mend(path, model, written, release)
        _move(_locations(model, path), written, out)
    return changes


def _mend(path: Path, model: onnx.ModelProto, written: Path, release: Release) -> tuple[str, ...]:
    """Tries the shapes, then the Reshapes too; the first that is proved stays written."""
    batch = _batch(model)
    _copy_weights(model, path, written.parent)
    changes: list[str] = []
    faults = list(_faults(ModelUnderTest(path, release=release)))
    if not faults:
        raise ContractMismatch(f"{path}: expected a model that does not batch, this one does")
    for step in (_free_shapes(model), _free_reshapes(model, batch)):
        made = list(step)
        if made:
            changes += made
            save(model, path, written)
            mended = ModelUnderTest(written, release=release, reference=path)
            faults = list(_faults(mended))
            if not faults:
                return tuple(changes)
    raise ContractMismatch(f"{path}: can't be mended: {'; '.join(faults)}")


def _batch(model: onnx.ModelProto) -> int:
    """The batch that the model is fixed to, by its first input; 1 where that is free."""
    fixed = g.fixed_batch(model)
    return next((fixed[v.name] for v in g.real_inputs(model.graph) if v.name in fixed), 1)


def _free_shapes(model: onnx.ModelProto) -> Iterator[str]:
    fixed = g.fixed_batch(model)
    g.free_dims(model, frozenset(fixed))
    for name, size in fixed.items():
        yield f"{name!r}: first dimension {size} is now {g.BATCH!r}"
    if model.graph.value_info:
        yield f"the shapes noted for {len(model.graph.value_info)} tensors inside are left out"
        del model.graph.value_info[:]


def _free_reshapes(model: onnx.ModelProto, batch: int) -> Iterator[str]:
    """Each Reshape to a constant (batch, …) becomes one to (-1, …), or (0, …) if -1 is taken."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.HasField("t"):
                constants[node.output[0]] = attribute.t
    for node in model.graph.node:
        tensor = constants.get(node.input[1]) if node.op_type == "Reshape" else None
        if tensor is None or tensor.data_location == onnx.TensorProto.EXTERNAL:
            continue
        shape = numpy_helper.to_array(tensor).copy()
        was = shape.tolist()
        allows_zero = any(each.name == "allowzero" and each.i for each in node.attribute)
        if was and was[0] == batch and not (allows_zero and -1 in was):
            shape[0] = 0 if -1 in was else -1
            name = f"{node.output[0]}_free_shape"
            model.graph.initializer.append(numpy_helper.from_array(shape.astype(np.int64), name))
            node.input[1] = name
            yield f"{g.label(node)}: shape {was} is now {shape.tolist()}"


def _faults(model: ModelUnderTest) -> Iterator[str]:
    for finding in check_model(model):
        if finding.rule.severity is Severity.ERROR:
            yield f"{finding.rule.code} {finding.message}"


def _copy_weights(model: onnx.ModelProto, path: Path, folder: Path) -> None:
    for location in _locations(model, path):
        source = path.parent / location
        if not source.is_file():
            raise ContractMismatch(f"{source}: external data of the model, absent")
        (folder / location).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / location)


def _locations(model: onnx.ModelProto, path: Path) -> set[str]:
    """Files of external data beside the model.

    Raises:
        ContractMismatch: one lies outside the model's folder.
    """
    outside = [external.location for external in g.externals(model) if external.escapes]
    if outside:
        raise ContractMismatch(f"external data outside the model's folder: {', '.join(outside)}")
    return {external.location for external in g.externals(model)} - {path.name}


def _move(locations: set[str], written: Path, out: Path) -> None:
    """The weights first, so that the model is never there without them."""
    targets = {location: out.parent / location for location in sorted(locations)}
    for location, target in targets.items():
        if target.exists() and not filecmp.cmp(written.parent / location, target, shallow=False):
            raise ContractMismatch(f"{target}: expected the model's weights, got another file")
    for location, target in targets.items():
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(written.parent / location, target)
    os.replace(written, out)

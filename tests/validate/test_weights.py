"""Large weights stay in the file, and the model works without having read them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from ensemble.errors import ContractMismatch
from tests.conftest import ROOT
from tests.validate.zoo import Sketch, node, weight
from tests.validate.zoo_broken import declaring
from tools.validate.model import graph as g
from tools.validate.model.session import Session
from tools.validate.model.weights import LARGE_BYTES, is_own, save, without_weights

SIDE = 160  # a square of float32 has 100 kB


def wide(first: onnx.NodeProto, layers: int = 2, side: int = SIDE) -> Sketch:
    """Layers of square weights, which lie in the file at odd offsets."""
    layer = [node("MatMul", f"h{i} w{i}", f"h{i + 1}", "m" * (i + 1)) for i in range(layers)]
    weights = {f"w{i}": weight(side, side, seed=i) for i in range(layers)}
    return Sketch(
        [first, *layer, node("Add", f"h{layers} b", "y")],
        [("x", onnx.TensorProto.FLOAT, ["N", side])],
        [("y", onnx.TensorProto.FLOAT, ["N", side])],
        {**weights, "b": weight(side)},
    )


RELU = node("Relu", "x", "h0")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "model.onnx"
    found.write_bytes(wide(RELU)(tmp_path))
    return found


def test_only_large_weights_are_left_where_they_are(path: Path) -> None:
    model = g.read(path)
    assert [t.name for t in model.graph.initializer if is_own(t, path)] == ["w0", "w1"]
    assert model.ByteSize() < LARGE_BYTES < path.stat().st_size
    assert {e.location for e in g.externals(model)} == {"model.onnx"}


def test_the_runtime_finds_them_there(path: Path) -> None:
    batch = {"x": np.random.default_rng(0).normal(size=(3, SIDE)).astype(np.float32)}
    for optimise in (True, False):
        lean = Session(g.read(path).SerializeToString(), path.parent, optimise).run(batch)
        whole = Session(path, path.parent, optimise).run(batch)
        np.testing.assert_array_equal(lean["y"], whole["y"])


def test_they_are_written_back(path: Path, tmp_path: Path) -> None:
    model = g.read(path)
    model.producer_name = "changed"
    save(model, path, tmp_path / "out.onnx")
    expected, got = onnx.load(path), onnx.load(tmp_path / "out.onnx")
    expected.producer_name = "changed"
    for each in (expected, got):  # their order says nothing
        each.graph.initializer.sort(key=lambda tensor: tensor.name)
    assert got == expected


@pytest.mark.parametrize("end", [-1, -LARGE_BYTES, 3])
def test_a_file_that_is_cut_short(path: Path, end: int) -> None:
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(g.Unreadable):
        g.read(path)


@pytest.mark.parametrize("content", [b"\xff", b"\x07", b"\x3a\xff\xff\xff\x7f"])
def test_a_large_file_that_is_no_protobuf(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content * LARGE_BYTES)
    with pytest.raises(ValueError, match=r"cut short|wire type"):
        without_weights(path)


def test_weights_that_are_gone(path: Path, tmp_path: Path) -> None:
    model = g.read(path)
    path.write_bytes(path.read_bytes()[:-LARGE_BYTES])
    with pytest.raises(ContractMismatch, match="more bytes of weights"):
        save(model, path, tmp_path / "out.onnx")


PROGRAM = """
import resource, sys
from pathlib import Path
from tools.validate.model import ModelUnderTest, check_model
from tools.validate.model.mend import fix
path = Path(sys.argv[1])
if sys.argv[2] == "fix":
    fix(path, path.with_name("mended.onnx"))
else:
    print(*(finding.rule.code for finding in check_model(ModelUnderTest(path))))
# Of itself, ru_maxrss would begin with the size of the process that forked it.
own, = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(max(int(own.split()[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
"""


@pytest.mark.parametrize("what", ["blame", "fix"])
def test_a_large_model_within_its_memory(tmp_path: Path, what: str) -> None:
    """Peak of each process: thrice the model and 300 MB; a copy more of it would show."""
    path = tmp_path / "model.onnx"
    leaking = wide(node("Softmax", "x", "h0", "mix", axis=0), 6, 2500)
    path.write_bytes((declaring(wide(RELU, 6, 2500)) if what == "fix" else leaking)(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), what],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    *codes, peak_kib = done.stdout.split()
    assert codes == ([] if what == "fix" else ["O035"])
    assert int(peak_kib) * 1024 <= 3 * path.stat().st_size + 300_000_000

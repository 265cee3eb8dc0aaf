"""A fault of metadata is mended into a new file; any other is refused, and nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from ensemble.errors import ContractMismatch
from tests.validate.zoo import IMAGE, ROWS, Sketch, node, weight, whole
from tests.validate.zoo_broken import declaring, flattening, noting
from tests.validate.zoo_good import HEAD_WEIGHTS, cnn, external
from tools.validate.findings import errors
from tools.validate.model import ModelUnderTest, check_model
from tools.validate.model.mend import fix


def written(folder: Path, sketch: Callable[[Path], bytes]) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(sketch(folder))
    return path


def answer(path: Path, batch: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": batch})[0])


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("sketch", [lambda batch: cnn(), flattening], ids=["shapes", "reshape"])
def test_the_result_batches_and_answers_alike(tmp_path: Path, sketch, batch: int) -> None:
    path = written(tmp_path, declaring(sketch(batch), batch, batch))
    changes = fix(path, tmp_path / "mended.onnx")
    assert changes[0] == f"'x': first dimension {batch} is now 'batch'"
    assert not errors(check_model(ModelUnderTest(tmp_path / "mended.onnx")))
    image = np.random.default_rng(0).normal(size=(batch, 3, 8, 8)).astype(np.float32)
    np.testing.assert_array_equal(answer(path, image), answer(tmp_path / "mended.onnx", image))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mended.onnx", "model.onnx"]


@pytest.mark.parametrize(
    ("allowzero", "shape", "mended"),
    [(0, (1, 4), [-1, 4]), (1, (1, 4), [-1, 4]), (0, (1, -1), [0, -1])],
)
def test_a_reshape_with_the_attribute_written(
    tmp_path: Path, allowzero: int, shape: tuple[int, int], mended: list[int]
) -> None:
    sketch = declaring(flattening())
    sketch.nodes[3].attribute.append(onnx.helper.make_attribute("allowzero", allowzero))
    sketch.weights = {**(sketch.weights or {}), "to": whole(*shape)}
    changes = fix(written(tmp_path, sketch), tmp_path / "mended.onnx")
    assert changes[-1].endswith(f"shape {list(shape)} is now {mended}")


def test_zeros_that_stand_for_none_are_left(tmp_path: Path) -> None:
    """With allowzero, 0 copies nothing and -1 is taken: nothing can stand first."""
    sketch = declaring(flattening())
    sketch.nodes[3].attribute.append(onnx.helper.make_attribute("allowzero", 1))
    sketch.weights = {**(sketch.weights or {}), "to": whole(1, -1)}
    with pytest.raises(ContractMismatch, match="can't be mended"):
        fix(written(tmp_path, sketch), tmp_path / "mended.onnx")


def test_external_data_go_along(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    path = tmp_path / "old" / "model.onnx"
    path.write_bytes(external(tmp_path / "old"))
    with pytest.raises(ContractMismatch, match="this one does"):
        fix(path, tmp_path / "new" / "model.onnx")
    assert list((tmp_path / "new").iterdir()) == []
    path.write_bytes(_fixed(path.read_bytes()))
    fix(path, tmp_path / "new" / "model.onnx")
    image = np.zeros((3, 3, 8, 8), np.float32)
    assert answer(tmp_path / "new" / "model.onnx", image).shape == (3, 8)


def _fixed(data: bytes) -> bytes:
    model = onnx.ModelProto.FromString(data)
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 1
    return bytes(model.SerializeToString())


def expanding() -> Sketch:
    """Declared for four, and four inside too."""
    to_four = node("Expand", "x to", "y", "expand")
    return declaring(Sketch([to_four], [ROWS], weights={"to": whole(4, 8)}), 4, 4)


@pytest.mark.parametrize(
    "content",
    [
        expanding(),
        declaring(Sketch([node("Softmax", "x", "y", axis=0)])),
        lambda folder: cnn()(folder)[:-100],
        lambda folder: b"",
    ],
    ids=["expanding", "leaking", "truncated", "empty"],
)
def test_a_deeper_fault_is_refused(tmp_path: Path, content) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ContractMismatch):
        fix(path, tmp_path / "mended.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_a_shape_noted_inside_is_left_out(tmp_path: Path) -> None:
    changes = fix(written(tmp_path, noting), tmp_path / "mended.onnx")
    assert changes == ("the shapes noted for 1 tensors inside are left out",)
    assert not errors(check_model(ModelUnderTest(tmp_path / "mended.onnx")))


def test_another_models_weights_stay(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    path = tmp_path / "old" / "model.onnx"
    path.write_bytes(_fixed(external(tmp_path / "old")))
    (tmp_path / "new" / "weights.bin").write_bytes(b"another's")
    with pytest.raises(ContractMismatch, match="got another file"):
        fix(path, tmp_path / "new" / "model.onnx")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["weights.bin"]


def test_a_mended_model_that_answers_otherwise_is_found(tmp_path: Path) -> None:
    path = written(tmp_path, cnn())
    other = tmp_path / "other.onnx"
    weights = {"w": weight(4, 3, 3, 3, seed=9), **HEAD_WEIGHTS}
    other.write_bytes(Sketch(cnn().nodes, [IMAGE], weights=weights)(tmp_path))
    found = list(check_model(ModelUnderTest(path, reference=other)))
    assert "O043" in {finding.rule.code for finding in found}


def test_the_original_is_never_written_over(tmp_path: Path) -> None:
    path = written(tmp_path, declaring(cnn()))
    before = path.read_bytes()
    with pytest.raises(ContractMismatch, match="new file"):
        fix(path, path)
    assert path.read_bytes() == before


def test_no_file_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mended.onnx").write_bytes(b"another's")
    with pytest.raises(ContractMismatch, match="got a file that exists"):
        fix(written(tmp_path, declaring(cnn())), tmp_path / "mended.onnx")
    assert (tmp_path / "mended.onnx").read_bytes() == b"another's"

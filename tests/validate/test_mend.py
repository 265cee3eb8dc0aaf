"""A fault of metadata is mended into a new file; any other is refused, and nothing is left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from ensemble.errors import ContractMismatch
from tests.validate.zoo import Sketch
from tests.validate.zoo_broken import declaring, flattening
from tests.validate.zoo_good import cnn, external
from tools.validate.findings import failed
from tools.validate.model import ModelUnderTest, check_model
from tools.validate.model.mend import fix


def written(folder: Path, sketch: Sketch) -> Path:
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
    assert not failed(tuple(check_model(ModelUnderTest(tmp_path / "mended.onnx"))))
    image = np.random.default_rng(0).normal(size=(batch, 3, 8, 8)).astype(np.float32)
    np.testing.assert_array_equal(answer(path, image), answer(tmp_path / "mended.onnx", image))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mended.onnx", "model.onnx"]


def test_external_data_go_along(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    path = tmp_path / "old" / "model.onnx"
    path.write_bytes(external(tmp_path / "old"))
    with pytest.raises(ContractMismatch, match="found none"):
        fix(path, tmp_path / "new" / "model.onnx")
    assert list((tmp_path / "new").iterdir()) == []
    path.write_bytes(_fixed(path.read_bytes()))
    fix(path, tmp_path / "new" / "model.onnx")
    image = np.zeros((3, 3, 8, 8), np.float32)
    assert answer(tmp_path / "new" / "model.onnx", image).shape == (3, 8)


def _fixed(data: bytes) -> bytes:
    import onnx

    model = onnx.ModelProto.FromString(data)
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 1
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("animal", ["softmax_over_batch", "fixed_batch_expanded", "truncated"])
def test_a_deeper_fault_is_refused(tmp_path: Path, animal: str) -> None:
    from tests.validate.zoo_broken import BROKEN, ROWS, node, whole

    if animal == "fixed_batch_expanded":
        nodes = [node("Expand", "x to", "y", "expand")]
        content = declaring(Sketch(nodes, [ROWS], weights={"to": whole(4, 8)}), 4, 4)(tmp_path)
    else:
        content = next(one for one in BROKEN if one.name == animal).build(tmp_path)
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ContractMismatch):
        fix(path, tmp_path / "mended.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_the_original_is_never_written_over(tmp_path: Path) -> None:
    path = written(tmp_path, declaring(cnn()))
    before = path.read_bytes()
    with pytest.raises(ContractMismatch, match="new file"):
        fix(path, path)
    assert path.read_bytes() == before

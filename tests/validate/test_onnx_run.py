"""Which ONNX files of a repository are checked, and whether any is."""

from __future__ import annotations

import io
import json
from pathlib import Path

import onnx
import pytest

from ensemble.errors import ContractMismatch
from tests.validate.zoo import Sketch, node
from tests.validate.zoo_broken import declaring
from tests.validate.zoo_good import cnn
from tools.validate import releases
from tools.validate.options import ValidateOptions
from tools.validate.run import validate

LEAKING = Sketch([node("Softmax", "x", "y", "mix", axis=0)])
CONFIG = """backend: "onnxruntime"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 8 }
output { name: "y" data_type: TYPE_FP32 dims: 8 }
dynamic_batching { }
"""


def codes(**asked: object) -> set[str]:
    out = io.StringIO()
    validate(ValidateOptions(format="json", **asked), out, io.StringIO())  # type: ignore[arg-type]
    return {finding["code"] for finding in json.loads(out.getvalue())}


def in_repository(folder: Path, config: str | None) -> set[str]:
    if config is not None:
        (folder / "m" / "config.pbtxt").write_text(config, encoding="utf-8")
    return codes(repository=folder, select=("O",))


def as_folder(folder: Path) -> Path:
    inside = folder / "m" / "1" / "model.onnx"
    inside.mkdir(parents=True)
    return inside


def test_a_model_in_a_folder_of_its_name(tmp_path: Path) -> None:
    (as_folder(tmp_path) / "model.onnx").write_bytes(LEAKING(tmp_path))
    assert in_repository(tmp_path, CONFIG) == {"O035"}


def test_an_empty_folder_is_no_model(tmp_path: Path) -> None:
    as_folder(tmp_path)
    assert in_repository(tmp_path, CONFIG) == {"O001"}


@pytest.mark.parametrize("config", [None, 'backend: "onnxruntime"'])
def test_what_the_server_completes_is_proved(tmp_path: Path, config: str | None) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "model.onnx").write_bytes(LEAKING(tmp_path))
    assert in_repository(tmp_path, config) == {"O035"}


def test_a_model_is_run_if_somebody_asks_for_its_rules(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(LEAKING(tmp_path))
    only = {"repository": None, "models": (path,)}
    assert codes(**only) == {"O035"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tools.validate.model.check_model", _never)
        with pytest.raises(AssertionError, match="was run"):
            codes(**only)
        assert codes(**only, select=("C",)) == set()


def _never(*_: object) -> None:
    raise AssertionError("the model was run")


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ContractMismatch, match="expected a file"):
        codes(repository=None, models=(tmp_path / "none.onnx",), select=("C",))


def test_a_mended_model_is_for_the_release_that_is_asked_for(tmp_path: Path) -> None:
    path, out = tmp_path / "model.onnx", tmp_path / "mended.onnx"
    sketch = declaring(cnn())
    sketch.opset = 22
    path.write_bytes(sketch(tmp_path))
    asked = {"repository": None, "models": (path,), "fix": out}
    with pytest.raises(ContractMismatch, match="O005"):
        validate(ValidateOptions(triton="24.10", **asked), io.StringIO(), io.StringIO())  # type: ignore[arg-type]
    said = io.StringIO()
    validate(ValidateOptions(triton="25.08", **asked), said, io.StringIO())  # type: ignore[arg-type]
    assert "is now 'batch'" in said.getvalue()
    assert out.exists()


def test_the_cpu_target_runs_in_the_onnx_runtime_that_is_installed(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = onnx.load_from_string(LEAKING(tmp_path))
    model.ir_version = releases.installed().takes.ir_version
    path.write_bytes(model.SerializeToString())
    assert "O004" in codes(repository=None, models=(path,), select=("O",), target="gpu")
    assert "O004" not in codes(repository=None, models=(path,), select=("O",), target="cpu")

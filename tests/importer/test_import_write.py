"""``tandem import`` as a whole, without a server: what is written, and that nothing is when not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment
from ensemble.pbtxt import parse
from ensemble.profiles import STAGES
from ensemble.transform import Transform
from tests.conftest import SAMPLES
from tests.importer.networks import save, small
from tools.cli import main
from tools.export import COMMITTED, export
from tools.validate.options import ValidateOptions

TRANSFORM = "torchvision-imagenet"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "labels.txt").write_text("\ufeffa\r\nb\r\nc\r\nd\r\n", encoding="utf-8")
    return save(small("Softmax"), tmp_path / "m.onnx", external=True)


def imported(model: Path, *further: str) -> int:
    labels, out = model.parent / "labels.txt", model.parent / "out"
    words = ["import", str(model), "--labels", str(labels), "--transform", TRANSFORM]
    return main([*words, "--out", str(out), "--output", "scores:0", *further])


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_a_repository_holds_all_that_triton_needs(
    model: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(model, "--target", target, "--profile", "bulk", "--max-batch-size", "16") == 0
    out = model.parent / "out"
    said = capsys.readouterr()
    assert said.out == f"{out}\n"
    assert "scores none: the model ends in Softmax" in said.err
    assert (f"tandem serve --repository {out} --profile bulk\n" in said.err) == (target == "cpu")
    configs = {p.parent.name: parse(p.read_text(), str(p)) for p in out.glob("*/config.pbtxt")}
    assert configs.keys() == {p.parent.name for p in COMMITTED.glob("*/config.pbtxt")}
    classifier = configs["classifier"]
    assert classifier.backend == {"cpu": "python", "gpu": "onnxruntime"}[target]
    assert classifier.max_batch_size == 16
    assert [tensor.name for tensor in classifier.input] == ["image:0"]
    assert [list(tensor.dims) for tensor in classifier.input] == [[3, 32, 32]]
    assert configs["postprocess"].parameters["scores"].string_value == "none"
    assert (out / "classifier/1/model.onnx").read_bytes() == model.read_bytes()
    assert (out / "classifier/1/m.onnx.data").read_bytes() == Path(f"{model}.data").read_bytes()
    assert (out / "postprocess/1/labels.txt").read_text(encoding="utf-8") == "a\nb\nc\nd\n"
    transform = Transform.from_file(out / "preprocess/1/transform.json")
    assert (transform.resize_shorter, transform.crop_height) == (37, 32)
    for path in [path for stage in STAGES for path in COMMITTED.glob(f"{stage}/1/*.py")]:
        assert (out / path.relative_to(COMMITTED)).read_text() == path.read_text()
    first = (out / "classifier/config.pbtxt").read_text().splitlines()[0]
    assert first == f"# Rendered: tandem import --target {target} --profile bulk"


@pytest.mark.parametrize(
    ("further", "said"),
    [
        (("--top-k", "5"), "top_k: expected 1 to 4, got 5"),
        (("--output", "features"), "has 8 classes, expected as many labels, got 4"),
        (("--scores", "sigmoid"), "is a probability"),
        (("--transform", "imagenet"), "--transform: expected one of"),
        (("--labels", "none.txt"), "none.txt: expected a file of labels: No such file"),
        (("--max-batch-size", "100000"), "max_batch_size: expected at most 3051"),
        (("--max-batch-size", "9" * 30), "max_batch_size: expected at most 3051"),
    ],
)
def test_what_does_not_fit_leaves_nothing_behind(
    model: Path, further: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(model.parent.iterdir())
    assert imported(model, *further) == 2
    assert said in capsys.readouterr().err
    assert sorted(model.parent.iterdir()) == before


def test_weights_named_like_a_file_of_ours_are_refused(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The copy fails when most is written already; what was goes too."""
    clash = model.with_name("model.py")
    save(small("Softmax"), clash.with_suffix(""), external=True)
    path = model.with_name("model")
    data = path.read_bytes().replace(b"model.data", b"./model.py")
    path.write_bytes(data)
    Path(f"{path}.data").rename(clash)
    before = sorted(model.parent.iterdir())
    assert imported(path) == 2
    assert "under a name of their own, got model.py" in capsys.readouterr().err
    assert sorted(model.parent.iterdir()) == before


def test_a_folder_with_files_is_left_alone(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = model.parent / "out"
    out.mkdir()
    (out / "precious").touch()
    assert imported(model) == 2
    assert "expected a new or empty folder" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["precious"]


def test_an_empty_folder_is_filled_through_a_link_too(model: Path) -> None:
    real, link = model.parent / "real", model.parent / "out"
    real.mkdir()
    link.symlink_to(real)
    assert imported(model) == 0
    assert link.is_symlink()
    assert (real / "classifier/1/model.onnx").is_file()


def current(folder: Path) -> str:
    (folder / "empty").mkdir()
    os.chdir(folder / "empty")
    return "."


def dangling(folder: Path) -> str:
    (folder / "link").symlink_to("nowhere")
    return str(folder / "link")


def circular(folder: Path) -> str:
    (folder / "link").symlink_to("link")
    return str(folder / "link")


def under_a_file(folder: Path) -> str:
    return str(folder / "labels.txt" / "below" / "out")


def too_long(folder: Path) -> str:
    return str(folder / ("o" * 300))


@pytest.mark.parametrize("place", [current, dangling, circular, under_a_file, too_long])
def test_a_place_that_cannot_be_is_named_with_its_option(
    model: Path,
    place: Callable[[Path], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(model.parent)
    out = place(model.parent)
    before = sorted(model.parent.rglob("*"))
    assert imported(model, "--out", out) == 2
    said = capsys.readouterr().err
    assert f"contract_mismatch: --out {out}: expected a new or empty folder, got" in said
    with pytest.raises(ContractMismatch, match="--out"):
        export(Deployment(), model, Path(out))
    assert sorted(model.parent.rglob("*")) == before


@pytest.mark.parametrize(("target", "code"), [("cpu", 0), ("gpu", 1)])
def test_the_onnx_runtime_of_the_target_decides(
    model: Path, target: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    proto = onnx.load(model)
    proto.ir_version = 11
    proto.opset_import[0].version = 23
    save(proto, model)
    assert imported(model, "--target", target) == code
    said = capsys.readouterr().err
    for rule in ("O004", "O005"):
        assert (rule in said) == (target == "gpu")
    assert f"Triton {ValidateOptions().triton} " in said or target == "cpu"


def test_a_picture_is_not_taken_for_a_model(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model.write_bytes((SAMPLES / "rocket.jpg").read_bytes())
    assert imported(model) == 2
    assert "not an ONNX model" in capsys.readouterr().err

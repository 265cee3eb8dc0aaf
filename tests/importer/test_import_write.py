"""``tandem import`` as a whole, without a server: what is written, and that nothing is when not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensemble.pbtxt import parse
from ensemble.transform import Transform
from tests.conftest import SAMPLES
from tests.importer.networks import save, small
from tools.cli import main
from tools.export import COMMITTED

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
    for path in COMMITTED.glob("*/1/*.py"):
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


def test_a_picture_is_not_taken_for_a_model(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model.write_bytes((SAMPLES / "rocket.jpg").read_bytes())
    assert imported(model) == 2
    assert "not an ONNX model" in capsys.readouterr().err

"""Model, transform, labels and scores to a deployment; everything that does not fit is refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ensemble.errors import ContractMismatch
from ensemble.model_config import SCORES, Ends
from ensemble.presets import PRESETS, read_toml
from ensemble.transform import Transform
from postprocess.labels import load_labels
from tools.importer.labels import read_labels, repeated
from tools.importer.model import Model, Tensor
from tools.importer.pixels import declared_size, fitted_transform
from tools.importer.plan import ImportRequest, chosen_scores, plan

MODEL = Model(
    path=Path("m.onnx"),
    input=Tensor("x", "tensor(float)", (None, 3, 224, 224)),
    output=Tensor("y", "tensor(float)", (None, 3)),
    last_operator="Gemm",
    classes=3,
)
TOML = "resize_shorter = 256\nmean = [1, 2, 3.5]\nstd = [4, 5, 6]\n"


def taking(*shape: int | None, dtype: str = "tensor(float)") -> Model:
    return replace(MODEL, input=Tensor("x", dtype, (None, *shape)))


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "t.toml"
    path.write_text(TOML)
    return path


def test_everything_comes_together(tmp_path: Path) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("a\nb\na\n")
    model = replace(MODEL, output=Tensor("y", "tensor(float16)", (None, 3)))
    made = plan(model, ImportRequest(labels, "torchvision-imagenet"))
    deployment = made.deployment
    assert (deployment.classes, deployment.top_k, deployment.scores) == (3, 3, "softmax")
    assert deployment.ends == Ends("x", "y", "TYPE_FP16")
    assert deployment.transform == PRESETS["torchvision-imagenet"].transform
    assert made.labels == ("a", "b", "a")
    assert any("0, 2 are all labelled 'a'" in note for note in made.notes)


# --- transform


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_at_its_own_size_is_taken_as_it_is(name: str) -> None:
    assert fitted_transform(MODEL, name) == (PRESETS[name].transform, ())


def test_a_preset_keeps_its_ratio_at_another_size() -> None:
    transform, notes = fitted_transform(taking(3, 299, 299), "torchvision-imagenet")
    assert (transform.resize_shorter, transform.pixels_shape) == (342, (3, 299, 299))
    assert "224 x 224" in notes[0]
    assert "299 x 299" in notes[0]


def test_the_stretching_preset_takes_the_models_own_size() -> None:
    transform, _ = fitted_transform(taking(48, 192, 3), "tf-imagenet")
    assert (transform.layout, transform.pixels_shape) == ("HWC", (48, 192, 3))
    assert transform.resized(1000, 10) == (48, 192)


def test_a_model_of_any_size_gets_the_presets_own() -> None:
    transform, _ = fitted_transform(taking(3, None, None), "torchvision-imagenet")
    assert transform == PRESETS["torchvision-imagenet"].transform


def test_half_precision_comes_from_preprocess() -> None:
    model = taking(3, 224, 224, dtype="tensor(float16)")
    assert fitted_transform(model, "tandem")[0] == Transform(dtype="FP16")


def test_a_file_gets_what_it_leaves_open_from_the_model(toml: Path) -> None:
    transform, _ = fitted_transform(taking(160, 192, 3), str(toml))
    assert transform.pixels_shape == (160, 192, 3)
    assert (transform.mean, transform.std) == ((1.0, 2.0, 3.5), (4.0, 5.0, 6.0))
    assert transform.filter == "triangular"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("crop_height = 192", r"crop_height is 192.*\[any, 3, 224, 224\] needs 224"),
        ('layout = "HWC"', "layout is 'HWC'.*needs 'CHW'"),
        ('dtype = "FP16"', "dtype is 'FP16'.*needs 'FP32'"),
        ("crop = 224", r"expected the fields.*\['crop'\]"),
        ("antialias = 1", "antialias: expected true or false, got 1"),
        ("filter = 3", "filter: expected a word"),
        ('filter = "bilinear"', "filter must be one of"),
        ('resize = "squash"', "resize must be one of"),
        ("crop_width = '224'", "crop_width: expected a whole number, got '224'"),
        ("crop_width = 22.5", "crop_width: expected a whole number"),
        ("apply_exif = yes", "expected a TOML file"),
    ],
)
def test_a_line_that_does_not_fit_is_named(toml: Path, line: str, said: str) -> None:
    toml.write_text(f"{TOML}{line}\n")
    with pytest.raises(ContractMismatch, match=said):
        fitted_transform(MODEL, str(toml))


@pytest.mark.parametrize("missing", ["resize_shorter", "mean", "std"])
def test_what_nobody_can_guess_has_to_be_there(toml: Path, missing: str) -> None:
    lines = [line for line in TOML.splitlines() if not line.startswith(missing)]
    toml.write_text("\n".join(lines))
    with pytest.raises(ContractMismatch, match=f"got no {missing}"):
        read_toml(toml)


@pytest.mark.parametrize("value", ["[1, 2]", "[1, 2, true]", "[1, 2, nan]", '["1", 2, 3]', "4"])
def test_three_numbers_are_three_numbers(toml: Path, value: str) -> None:
    toml.write_text(TOML.replace("[1, 2, 3.5]", value))
    with pytest.raises(ContractMismatch, match="mean: expected three numbers"):
        read_toml(toml)


def test_levels_of_0_to_1_are_recognised(toml: Path) -> None:
    toml.write_text(TOML.replace("[4, 5, 6]", "[0.229, 0.224, 0.225]"))
    with pytest.raises(ContractMismatch, match=r"looks like 0\.\.1: multiply"):
        read_toml(toml)


def test_a_model_of_any_size_needs_a_crop(toml: Path) -> None:
    with pytest.raises(ContractMismatch, match="expected crop_height"):
        fitted_transform(taking(3, None, None), str(toml))


def test_the_declared_crop_is_what_a_model_of_any_size_runs_with(toml: Path) -> None:
    assert declared_size("tf-imagenet") == declared_size(str(toml)) == (224, 224)
    toml.write_text(f"{TOML}crop_height = 48\ncrop_width = 192\n")
    assert declared_size(str(toml)) == (48, 192)
    toml.write_text(f"{TOML}crop_height = -48\n")
    with pytest.raises(ContractMismatch, match=r"1 to 2341 pixels, got \(-48, 224\)"):
        declared_size(str(toml))


def test_a_name_that_is_neither_is_told_the_choices() -> None:
    with pytest.raises(ContractMismatch, match=r"torchvision-imagenet.*got imagenet"):
        fitted_transform(MODEL, "imagenet")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ContractMismatch, match=r"none\.toml"):
        fitted_transform(MODEL, "none.toml")


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_content_of_a_file_is_a_traceback(tmp_path: Path, content: bytes) -> None:
    for name, read in (("t.toml", read_toml), ("l.txt", lambda path: read_labels(path, 3))):
        (tmp_path / name).write_bytes(content)
        with suppress(ContractMismatch):
            read(tmp_path / name)


# --- scores


@pytest.mark.parametrize(
    ("last", "sums", "asked", "kind"),
    [
        ("Gemm", False, "auto", "softmax"),
        ("LogSoftmax", False, "auto", "softmax"),
        ("Softmax", True, "auto", "none"),
        ("Sigmoid", False, "auto", "none"),
        ("HardSigmoid", False, "auto", "none"),
        ("Div", True, "auto", "none"),
        (None, False, "auto", "softmax"),
        ("Gemm", False, "sigmoid", "sigmoid"),
        ("Gemm", False, "none", "none"),
        ("Softmax", True, "none", "none"),
    ],
)
def test_scores_follow_from_how_the_model_ends(
    last: str | None, sums: bool, asked: str, kind: str
) -> None:
    assert chosen_scores(replace(MODEL, last_operator=last, sums_to_one=sums), asked)[0] == kind


@pytest.mark.parametrize(
    ("last", "sums", "asked"),
    [("Softmax", True, "softmax"), ("Sigmoid", False, "sigmoid"), ("Div", True, "softmax")],
)
def test_a_score_is_not_made_twice(last: str, sums: bool, asked: str) -> None:
    model = replace(MODEL, last_operator=last, sums_to_one=sums)
    with pytest.raises(ContractMismatch, match="is a probability"):
        chosen_scores(model, asked)


def test_rows_of_0_to_1_that_do_not_sum_to_1_are_not_guessed() -> None:
    model = replace(MODEL, last_operator="Mul", within_one=True)
    with pytest.raises(ContractMismatch, match=r"ends in Mul.*0\.\.1.*say --scores none"):
        chosen_scores(model, "auto")
    for asked in SCORES:
        assert chosen_scores(model, asked)[0] == asked
    assert chosen_scores(replace(model, sums_to_one=True), "auto")[0] == "none"


def test_softmax_of_one_class_is_refused() -> None:
    with pytest.raises(ContractMismatch, match=r"--scores: .*Gemm with one class.*always 1"):
        chosen_scores(replace(MODEL, classes=1), "auto")
    with pytest.raises(ContractMismatch, match=r"--scores softmax: .*always 1"):
        chosen_scores(replace(MODEL, classes=1), "softmax")
    assert chosen_scores(replace(MODEL, classes=1), "sigmoid")[0] == "sigmoid"


# --- labels


@pytest.mark.parametrize(
    "content",
    [
        b"a\nb c\n\xc3\xa9\n",
        b"\xef\xbb\xbfa\nb c\n\xc3\xa9",
        b"a\r\nb c\r\n\xc3\xa9\r\n",
        b"  a\nb c  \n\xc3\xa9\n\n \n",
        "\u00a0a\u00a0\nb c\u3000\né\n\u00a0\n".encode(),
    ],
)
def test_labels_are_read_as_people_write_them(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "l.txt"
    path.write_bytes(content)
    assert read_labels(path, 3) == ("a", "b c", "é")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a\nb\n", "has 3 classes, expected as many labels, got 2"),
        (b"a\nb\nc\nd\n", "got 4"),
        (b"a\n\nc\n", r"l\.txt:2: .*blank line"),
        (b"", r"l\.txt:1: .*blank line"),
        ("\u00a0\nb\nc\n".encode(), r"l\.txt:1: .*blank line"),
        ("a\n\u2003\u3000\nc\n".encode(), r"l\.txt:2: .*blank line"),
        ("a\n\u200b\nc\n".encode(), r"l\.txt:2: .*blank line"),
        (b"0\ta\n1\tb\n2\tc\n", r"l\.txt:1: .*a tab"),
        (b"a\nb\xff\nc\n", r"l\.txt:2: expected UTF-8"),
        (b"a\nb\x00\nc\n", r"l\.txt:2: .*x00"),
        (b"\xff\xfea\x00\n\x00", r"l\.txt:1: expected UTF-8"),
        ("a\nb\u2028c\nd\n".encode(), r"l\.txt:2: .*u2028"),
    ],
)
def test_labels_that_do_not_fit_are_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "l.txt"
    path.write_bytes(content)
    with pytest.raises(ContractMismatch, match=said):
        read_labels(path, 3)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=4))
@example(["\u00a0"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_import_accepts_is_what_postprocess_serves(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "l.txt"
    path.write_bytes("\n".join(lines).encode("utf-8", "replace"))
    with suppress(ContractMismatch):
        labels = read_labels(path, len(lines))
        path.write_text("\n".join(labels) + "\n", encoding="utf-8")
        assert [name.decode() for name in load_labels(path, len(labels))] == list(labels)


def test_the_background_class_is_suggested_where_it_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    path.write_text("\n".join(f"class {n}" for n in range(1000)))
    with pytest.raises(ContractMismatch, match=r"1001 classes.*got 1000; class 0 may be"):
        read_labels(path, 1001)


def test_different_labels_are_not_called_repeated() -> None:
    assert list(repeated(("a", "b", "c"))) == []

"""What is read from an ONNX file, and which files are refused and how."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.errors import ContractMismatch
from tests.importer.networks import mobilenet_v3_small, resnet18, save, small
from tools.importer.model import read

Change = Callable[[onnx.ModelProto], None]
SMALL = small().SerializeToString()


def test_a_torchvision_export_is_read(tmp_path: Path) -> None:
    model = read(save(resnet18(classes=10, width=8), tmp_path / "m.onnx"))
    assert (model.input.name, model.output.name, model.classes) == ("input", "output", 10)
    assert (model.layout, model.height_width) == ("CHW", (224, 224))
    assert (model.last_operator, model.sums_to_one, model.weights) == ("Gemm", False, ())


def test_a_mobilenet_of_the_newer_exporter_is_read(tmp_path: Path) -> None:
    model = read(save(mobilenet_v3_small(classes=7), tmp_path / "m.onnx"))
    assert (model.input.name, model.output.name, model.classes) == ("x", "linear_1", 7)
    assert model.input.shape == (None, 3, 224, 224)


def test_a_tensorflow_model_has_its_channels_last(tmp_path: Path) -> None:
    path = save(small("Softmax", image=(None, 48, 64, 3)), tmp_path / "m.onnx")
    model = read(path, "scores:0")
    assert (model.layout, model.height_width) == ("HWC", (48, 64))
    assert (model.last_operator, model.sums_to_one) == ("Softmax", True)


def test_sizes_and_classes_may_be_open(tmp_path: Path) -> None:
    proto = small(image=("N", 3, "H", "W"))
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "C"
    path = save(proto, tmp_path / "m.onnx")
    model = read(path, "scores:0", size=(48, 192))
    assert (model.height_width, model.classes) == ((None, None), 4)


def test_casts_and_reshapes_do_not_hide_the_last_operator(tmp_path: Path) -> None:
    proto = small("Sigmoid")
    proto.graph.node[-1].output[0] = "hidden"
    proto.graph.node.append(onnx.helper.make_node("Identity", ["hidden"], ["scores:0"]))
    assert read(save(proto, tmp_path / "m.onnx"), "scores:0").last_operator == "Sigmoid"


@pytest.mark.parametrize(
    ("kind", "further", "constant", "last"),
    [
        ("Sigmoid", "Clip", None, "Sigmoid"),
        ("Sigmoid", "Mul", 1.0, "Sigmoid"),
        ("HardSigmoid", "Div", 1.0, "HardSigmoid"),
        ("Softmax", "Add", 0.0, "Softmax"),
        ("Sigmoid", "Mul", 0.5, "Mul"),
        ("Sigmoid", "Add", 1.0, "Add"),
    ],
)
def test_what_changes_no_score_does_not_hide_the_last_operator(
    tmp_path: Path, kind: str, further: str, constant: float | None, last: str
) -> None:
    proto = small(kind)
    proto.graph.node[-1].output[0] = "hidden"
    inputs = ["hidden"]
    if constant is not None:
        number = np.full((1, 4), constant, np.float32)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(number, "number"))
        inputs.append("number")
    proto.graph.node.append(onnx.helper.make_node(further, inputs, ["scores:0"]))
    model = read(save(proto, tmp_path / "m.onnx"), "scores:0")
    assert model.last_operator == last
    assert model.within_one == (further != "Add" or constant == 0)


def test_one_divided_by_a_score_is_another_number(tmp_path: Path) -> None:
    """The constant is on the left."""
    proto = small("Sigmoid")
    proto.graph.node[-1].output[0] = "hidden"
    one = onnx.helper.make_tensor("one", 1, [1], [1.0])
    proto.graph.node.append(onnx.helper.make_node("Constant", [], ["one"], value=one))
    proto.graph.node.append(onnx.helper.make_node("Div", ["one", "hidden"], ["scores:0"]))
    model = read(save(proto, tmp_path / "m.onnx"), "scores:0")
    assert (model.last_operator, model.within_one) == ("Div", False)


def test_probabilities_are_seen_without_a_softmax(tmp_path: Path) -> None:
    """As a softmax that was written out: Exp, ReduceSum, Div."""
    proto = small("Exp")
    proto.graph.node[-1].output[0] = "powers"
    make = onnx.helper.make_node
    proto.graph.node.append(make("ReduceMean", ["powers"], ["mean"], axes=[1]))
    four = onnx.numpy_helper.from_array(np.array(4.0, np.float32), "four")
    proto.graph.initializer.append(four)
    proto.graph.node.append(make("Mul", ["mean", "four"], ["sum"]))
    proto.graph.node.append(make("Div", ["powers", "sum"], ["scores:0"]))
    model = read(save(proto, tmp_path / "m.onnx"), "scores:0")
    assert (model.last_operator, model.sums_to_one) == ("Div", True)


def test_external_weights_are_named_once(tmp_path: Path) -> None:
    model = read(save(small(), tmp_path / "m.onnx", external=True), "scores:0")
    assert model.weights == ("m.onnx.data",)


def test_external_weights_that_are_missing_are_named(tmp_path: Path) -> None:
    path = save(small(), tmp_path / "m.onnx", external=True)
    (tmp_path / "m.onnx.data").unlink()
    with pytest.raises(ContractMismatch, match=r"weights are in m\.onnx\.data.*not there"):
        read(path, "scores:0")


@pytest.mark.parametrize("location", ["../weights", "/etc/hostname"])
def test_external_weights_outside_the_folder_are_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "weights").touch()
    folder = tmp_path / "model"
    folder.mkdir()
    path = save(small(), folder / "m.onnx", external=True)
    proto = onnx.load(path, load_external_data=False)
    proto.graph.initializer[0].external_data[0].value = location
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(ContractMismatch, match="expected its weights below"):
        read(path, "scores:0")


def second_input(proto: onnx.ModelProto) -> None:
    proto.graph.input.append(onnx.helper.make_tensor_value_info("mask", 1, ["N", 1]))


def fixed_output(proto: onnx.ModelProto) -> None:
    proto.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 1


def unknown_operator(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].op_type = "Convolution"


def operator_of_nobody(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].domain = "com.nobody"
    proto.opset_import.append(onnx.helper.make_opsetid("com.nobody", 1))


def fixed_reshape(proto: onnx.ModelProto) -> None:
    """A batch of one, written into the graph."""
    flatten = next(node for node in proto.graph.node if node.op_type == "Flatten")
    shape = onnx.numpy_helper.from_array(np.array([1, 8]), "shape")
    proto.graph.initializer.append(shape)
    flatten.op_type = "Reshape"
    flatten.input.append("shape")


def hidden_batch_of_one(proto: onnx.ModelProto) -> None:
    """Every axis stays open, declared or inferred: which one is squeezed is computed, n - n."""
    constants = {"first": np.array([0]), "target": np.array([-1, 8])}
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in constants.items())
    flatten = next(node for node in proto.graph.node if node.op_type == "Flatten")
    at = list(proto.graph.node).index(flatten)
    make = onnx.helper.make_node
    for node in (
        make("Squeeze", [flatten.input[0], "zero"], ["row"]),
        make("Sub", ["n", "n"], ["zero"]),
        make("Gather", ["shape", "first"], ["n"]),
        make("Shape", [flatten.input[0]], ["shape"]),
    ):
        proto.graph.node.insert(at, node)
    proto.graph.node[at + 4].CopyFrom(make("Reshape", ["row", "target"], ["features"]))


def rows_put_together(proto: onnx.ModelProto) -> None:
    proto.graph.node[-1].output[0] = "rows"
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([-1, 8]), "shape"))
    proto.graph.node.append(onnx.helper.make_node("Reshape", ["rows", "shape"], ["scores:0"]))
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 8


def grey(proto: onnx.ModelProto) -> None:
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 1
    weight = onnx.numpy_helper.from_array(np.ones((8, 1, 3, 3), np.float32), "onnx::W_0")
    proto.graph.initializer[0].CopyFrom(weight)


def no_change(proto: onnx.ModelProto) -> None:
    pass


REFUSED: dict[str, tuple[dict[str, object], Change, str | None, str]] = {
    "two inputs": ({}, second_input, "scores:0", "expected one input, an image; got 2"),
    "grey": ({}, grey, "scores:0", "a colour image"),
    "huge": ({"image": ("N", 3, 5000, 32)}, no_change, "scores:0", "at most 2341 pixels"),
    "a batch of one": ({"image": (1, 3, 32, 32)}, no_change, "scores:0", "any size, got 1"),
    "output of one": ({}, fixed_output, "scores:0", "output scores:0.*any size, got 1"),
    "unknown output": ({}, no_change, "logits", "to name one of scores:0.*got logits"),
    "which output": ({}, no_change, None, "to name one of scores:0.*features.*got none"),
    "unknown operator": ({}, unknown_operator, "scores:0", "checker: No Op registered for Conv"),
    "foreign operator": ({}, operator_of_nobody, "scores:0", "ONNX Runtime refuses it.*nobody"),
    "fixed inside": ({}, fixed_reshape, "scores:0", "output scores:0.*any size, got 1"),
    "hidden inside": ({}, hidden_batch_of_one, "scores:0", "fails on a batch of two.*Squeeze"),
    "rows together": ({}, rows_put_together, "scores:0", r"2 rows of classes.*\[1, 8\]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_cannot_be_served_is_refused(tmp_path: Path, name: str) -> None:
    arguments, change, output, said = REFUSED[name]
    proto = small(**arguments)  # type: ignore[arg-type]
    change(proto)
    with pytest.raises(ContractMismatch, match=said):
        read(save(proto, tmp_path / "m.onnx"), output)


def test_another_type_is_refused_by_name(tmp_path: Path) -> None:
    proto = small()
    proto.graph.node.append(onnx.helper.make_node("Cast", ["scores:0"], ["wide"], to=11))
    proto.graph.output.append(onnx.helper.make_tensor_value_info("wide", 11, ["N", 4]))
    with pytest.raises(ContractMismatch, match=r"output wide tensor\(double\)"):
        read(save(proto, tmp_path / "m.onnx"), "wide")


@pytest.mark.parametrize("content", [b"", b"not onnx", b"\x08\x07\x12\xff\xff\xff", b"<html>"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(ContractMismatch, match=r"m\.onnx"):
        read(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContractMismatch, match="No such file"):
        read(tmp_path / "none.onnx")


def test_the_serving_image_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ContractMismatch, match="needs the package onnx"):
        read(Path("m.onnx"))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_damage_to_a_model_is_a_traceback(data: st.DataObject) -> None:
    content = bytearray(SMALL)
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        path.write_bytes(content)
        with suppress(ContractMismatch):
            read(path, "scores:0")

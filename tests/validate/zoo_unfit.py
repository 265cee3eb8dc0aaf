"""Models that do not load, have no batch axis, or do not fit their configuration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

from tests.validate.zoo import ROWS, Animal, Sketch, broken, node, value
from tests.validate.zoo_good import cnn, external

RELU = node("Relu", "x", "r")


def _no_batch_axis() -> Sketch:
    return Sketch(
        [node("Mul", "x s", "y")], [ROWS, ("s", T.FLOAT, [8])], outputs=[("y", T.FLOAT, ["N", 8])]
    )


def _scalar_input() -> Sketch:
    return Sketch([node("Mul", "x s", "y")], [ROWS, ("s", T.FLOAT, [])])


def without_weights(folder: Path) -> bytes:
    data = external(folder)
    (folder / "weights.bin").unlink()
    return data


def with_short_weights(folder: Path) -> bytes:
    data = external(folder)
    (folder / "weights.bin").write_bytes(b"short")
    return data


def with_weights_elsewhere(folder: Path) -> bytes:
    model = onnx.ModelProto.FromString(external(folder))
    for tensor in model.graph.initializer:
        tensor.external_data[0].value = "../weights.bin"
    (folder / "weights.bin").rename(folder.parent / "weights.bin")
    return bytes(model.SerializeToString())


def _absent_output() -> Sketch:
    return Sketch([RELU], outputs=[("y", T.FLOAT, ["N", 8])])


CONFIG = """max_batch_size: 8
input {{ name: "{input}" data_type: {type} dims: {dims} }}
output {{ name: "y" data_type: TYPE_FP32 dims: [8] }}"""


def configured(name: str, code: str, says: str, **fields: str) -> Animal:
    """A good model beside a configuration that does not fit."""
    given = {"input": "x", "type": "TYPE_FP32", "dims": "[3, 8, 8]"} | fields
    return broken(
        name,
        f"O042 {code}",
        None,
        cnn(),
        config=CONFIG.format(**given),
        says=tuple(says.split("|")),
    )


def _shape_unknown() -> Sketch:
    """The rank of what a Loop carries is not inferred."""
    body = helper.make_graph(
        [node("Identity", "go", "on"), node("Neg", "a", "b")],
        "body",
        [value("i", T.INT64, []), value("go", T.BOOL, []), value("a", T.FLOAT, None)],
        [value("on", T.BOOL, []), value("b", T.FLOAT, None)],
    )
    nodes = [node("Loop", "two _ x", "y", body=body)]
    return Sketch(nodes, outputs=[("y", T.FLOAT, None)], weights={"two": np.array(2)})


def _sequence(folder: Path) -> bytes:
    model = Sketch([node("SequenceConstruct", "x x", "y")]).model()
    model.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("y", T.FLOAT, ["N", 8]))
    return bytes(model.SerializeToString())


UNFIT = [
    broken("shape_unknown", "O018 O042", None, _shape_unknown(), says=("'y'",)),
    broken("sequence", "O019 O003", None, _sequence, says=("'y' is a sequence",)),
    broken(
        "input_shape_unknown",
        "O018 O003",
        None,
        Sketch([node("Relu", "x", "y")], [("x", T.FLOAT, None)]),
    ),
    broken("no_batch_axis", "O012 O003", None, _no_batch_axis(), says=("'s' [8]",)),
    broken("scalar_input", "O012 O003", None, _scalar_input(), says=("'s' []",)),
    broken("weights_missing", "O008 O003", None, without_weights, says=("weights.bin (absent)",)),
    broken("weights_short", "O008 O003", None, with_short_weights, says=("5 bytes",)),
    broken("weights_elsewhere", "O009 O003", None, with_weights_elsewhere),
    broken("output_absent", "O014 O003", None, _absent_output(), says=("'y'",)),
    broken(
        "ir_99",
        "O004 O003",
        None,
        Sketch([node("Relu", "x", "y")], ir_version=99),
        says=("99", "up to 10"),
    ),
    broken(
        "opset_too_new",
        "O005 O003",
        None,
        Sketch([node("Relu", "x", "y")], opset=99),
        says=("99", "up to 21"),
    ),
    broken(
        "opset_newer_than_triton",
        "O005 O042",
        None,
        Sketch([node("Relu", "x", "y")], opset=22),
        says=("22", "up to 21"),
    ),
    broken("unknown_operator", "O006 O003", "wish", Sketch([node("Wish", "x", "y", "wish")])),
    broken(
        "custom_operator",
        "O007 O003",
        "own",
        Sketch([node("Own", "x", "y", "own", domain="my.ops")], domains=["my.ops"]),
    ),
    broken(
        "wrong_attribute",
        "O030",
        None,
        Sketch([node("Softmax", "x", "y", "mix", colour=1)]),
        says=('"mix"',),
    ),
    broken("truncated", "O001", None, lambda folder: cnn()(folder)[:-100]),
    broken("not_onnx", "O001", None, lambda folder: b"<html>404</html>"),
    broken("empty", "O001", None, lambda folder: b""),
    configured("config_input_unknown", "O020", "'image'|'x'", input="image"),
    configured("config_type", "O022", "TYPE_FP16|FLOAT", type="TYPE_FP16"),
    configured("config_dims", "O023", "[3, 9, 9]|[N, 3, 8, 8]", dims="[3, 9, 9]"),
    configured("config_with_batch", "O023", "drop the first", dims="[1, 3, 8, 8]"),
    configured("config_free_where_fixed", "O023", "[3, -1, -1]", dims="[3, -1, -1]"),
]

"""Models that batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

from tests.validate.zoo import IMAGE, ROWS, Sketch, good, node, value, weight, whole

CONV = node("Conv", "x w", "c", "conv", pads=[1, 1, 1, 1])
KERNEL = {"w": weight(4, 3, 3, 3)}
HEAD = [node("GlobalAveragePool", "r", "p"), node("Flatten", "p", "f"), node("Gemm", "f v", "y")]
HEAD_WEIGHTS = {"v": weight(4, 8)}
TOKENS = ("x", T.FLOAT, ["N", 5, 8])
LABELS = [("y", T.FLOAT, ["N", 8])]


def cnn() -> Sketch:
    return Sketch(
        [CONV, node("Relu", "c", "r"), *HEAD], [IMAGE], weights={**KERNEL, **HEAD_WEIGHTS}
    )


def external(folder: Path) -> bytes:
    """Weights in a file beside it."""
    model = cnn().model()
    onnx.external_data_helper.convert_model_to_external_data(
        model, location="weights.bin", size_threshold=0
    )
    onnx.save(model, folder / "external.onnx")
    return (folder / "external.onnx").read_bytes()


def minus_one(folder: Path) -> bytes:
    """Free dimensions written as numbers, as PaddlePaddle does."""
    model = cnn().model()
    for tensor in (*model.graph.input, *model.graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_value = -1
    return bytes(model.SerializeToString())


def _attention() -> Sketch:
    return Sketch(
        [
            node("MatMul", "x q", "Q"),
            node("MatMul", "x k", "K"),
            node("Transpose", "K", "KT", perm=[0, 2, 1]),
            node("MatMul", "Q KT", "s"),
            node("Softmax", "s", "a", axis=-1),
            node("MatMul", "a x", "o"),
            node("ReduceMean", "o", "y", axes=[1], keepdims=0),
        ],
        [TOKENS],
        weights={"q": weight(8, 8), "k": weight(8, 8, seed=2)},
    )


def _heads() -> Sketch:
    """Heads folded into the batch, and back by a computed shape."""
    return Sketch(
        [
            node("Reshape", "x split", "h"),
            node("Transpose", "h", "t", perm=[0, 2, 1, 3]),
            node("Reshape", "t fold", "b"),
            node("Transpose", "b", "bt", perm=[0, 2, 1]),
            node("MatMul", "b bt", "s"),
            node("Softmax", "s", "a"),
            node("MatMul", "a b", "o"),
            node("Shape", "x", "shape"),
            node("Gather", "shape zero", "n", "gather_n"),
            node("Concat", "n rest", "full", "concat_shape", axis=0),
            node("Reshape", "o full", "u"),
            node("ReduceMean", "u", "y", axes=[1, 2], keepdims=0),
        ],
        [TOKENS],
        [("y", T.FLOAT, ["N", 4])],
        {
            "split": whole(0, 5, 2, 4),
            "fold": whole(-1, 5, 4),
            "zero": whole(0),
            "rest": whole(2, 5, 4),
        },
    )


def _recurrent(op_type: str, gates: int) -> Sketch:
    return Sketch(
        [
            node("Transpose", "x", "t", perm=[1, 0, 2]),
            node(op_type, "t w r", "_ h", hidden_size=8),
            node("Squeeze", "h axis", "y"),
        ],
        [TOKENS],
        weights={
            "w": weight(1, gates * 8, 8),
            "r": weight(1, gates * 8, 8, seed=2),
            "axis": whole(0),
        },
    )


def _branch() -> Sketch:
    def body(op_type: str) -> onnx.GraphProto:
        return helper.make_graph(
            [node(op_type, "x", "z")], op_type, [], [value("z", T.FLOAT, ["N", 8])]
        )

    return Sketch(
        [
            node("Constant", "", "yes", value=helper.make_tensor("t", T.BOOL, [], [True])),
            node("If", "yes", "y", then_branch=body("Relu"), else_branch=body("Neg")),
        ]
    )


def _loop() -> Sketch:
    body = helper.make_graph(
        [node("Identity", "go", "on"), node("Mul", "a half", "b")],
        "body",
        [value("i", T.INT64, []), value("go", T.BOOL, []), value("a", T.FLOAT, ["N", 8])],
        [value("on", T.BOOL, []), value("b", T.FLOAT, ["N", 8])],
    )
    return Sketch(
        [node("Loop", "three _ x", "y", body=body)],
        weights={"three": np.array(3, np.int64), "half": np.array(0.5, np.float32)},
    )


def _qdq() -> Sketch:
    scale = {"s": np.array(0.02, np.float32), "z": np.array(0, np.int8)}
    return Sketch(
        [
            node("QuantizeLinear", "x s z", "q", "q1"),
            node("DequantizeLinear", "q s z", "d", "d1"),
            node("Conv", "d w", "c", "conv"),
            node("QuantizeLinear", "c s z", "cq", "q2"),
            node("DequantizeLinear", "cq s z", "r", "d2"),
            *HEAD,
        ],
        [IMAGE],
        weights={**KERNEL, **HEAD_WEIGHTS, **scale},
    )


def _batch_norm() -> Sketch:
    four = np.ones(4, np.float32)
    return Sketch(
        [CONV, node("BatchNormalization", "c g b m u", "r"), *HEAD],
        [IMAGE],
        weights={**KERNEL, **HEAD_WEIGHTS, "g": four, "b": four / 2, "m": four / 3, "u": four},
    )


def _fp16() -> Sketch:
    return Sketch(
        [CONV, node("Relu", "c", "r"), *HEAD],
        [("x", T.FLOAT16, ["N", 3, 8, 8])],
        [("y", T.FLOAT16, ["N", 8])],
        {"w": weight(4, 3, 3, 3, dtype=np.float16), "v": weight(4, 8, dtype=np.float16)},
    )


def _nhwc() -> Sketch:
    return Sketch(
        [
            node("Transpose", "x", "t", perm=[0, 3, 1, 2]),
            node("Conv", "t w", "r", "conv"),
            *HEAD,
        ],
        [("x", T.FLOAT, ["N", 8, 8, 3])],
        weights={**KERNEL, **HEAD_WEIGHTS},
    )


def _uint8() -> Sketch:
    return Sketch(
        [
            node("Cast", "x", "f32", to=T.FLOAT),
            node("Mul", "f32 s", "m"),
            node("Conv", "m w", "r", "conv"),
            *HEAD,
        ],
        [("x", T.UINT8, ["N", 3, 8, 8])],
        weights={**KERNEL, **HEAD_WEIGHTS, "s": np.array(1 / 255, np.float32)},
    )


def _embedding() -> Sketch:
    return Sketch(
        [
            node("Gather", "table ids", "e", "embed"),
            node("Unsqueeze", "mask last", "u"),
            node("Cast", "u", "uf", to=T.FLOAT),
            node("Mul", "e uf", "m"),
            node("ReduceMean", "m", "y", axes=[1], keepdims=0),
        ],
        [("ids", T.INT64, ["N", "T"]), ("mask", T.INT64, ["N", "T"])],
        weights={"table": weight(50, 8), "last": whole(-1)},
    )


def _layer_norm() -> Sketch:
    return Sketch(
        [node("LayerNormalization", "x g", "l"), node("Gemm", "l v", "y")],
        weights={"g": np.ones(8, np.float32), "v": weight(8, 8)},
    )


def _mlp() -> Sketch:
    return Sketch(
        [node("Gemm", "x a", "h"), node("Relu", "h", "r"), node("MatMul", "r b", "y")],
        weights={"a": weight(8, 16), "b": weight(16, 8, seed=2)},
    )


def _strings() -> Sketch:
    return Sketch(
        [
            node("ArgMax", "x", "i", axis=1, keepdims=0),
            node("Gather", "names i", "y", "name"),
        ],
        outputs=[("y", T.STRING, ["N"])],
        weights={"names": np.array([f"class {n}" for n in range(8)], object)},
    )


def _resize() -> Sketch:
    return Sketch(
        [node("Resize", "x _ scales", "c", mode="linear"), node("Conv", "c w", "r"), *HEAD],
        [("x", T.FLOAT, ["N", 3, "H", "W"])],
        weights={
            **KERNEL,
            **HEAD_WEIGHTS,
            "scales": np.array([1, 1, 0.5, 0.5], np.float32),
        },
    )


def _depthwise() -> Sketch:
    return Sketch(
        [node("Conv", "x d", "c", "depthwise", group=3), node("Conv", "c w", "r"), *HEAD],
        [IMAGE],
        weights={"d": weight(3, 1, 3, 3), **KERNEL, **HEAD_WEIGHTS},
    )


def _two_inputs() -> Sketch:
    return Sketch([node("Add", "a b", "y")], [("a", *ROWS[1:]), ("b", *ROWS[1:])])


def _several_outputs() -> Sketch:
    return Sketch(
        [node("Softmax", "x", "y"), node("TopK", "x k", "v i", axis=1)],
        outputs=[*LABELS, ("v", T.FLOAT, ["N", 3]), ("i", T.INT64, ["N", 3])],
        weights={"k": whole(3)},
    )


def _deconvolution() -> Sketch:
    return Sketch(
        [node("ConvTranspose", "x w", "r", strides=[2, 2]), *HEAD],
        [IMAGE],
        weights={"w": weight(3, 4, 2, 2), **HEAD_WEIGHTS},
    )


def _function() -> Sketch:
    return Sketch([node("Gelu", "x", "y", approximate="tanh")], opset=20, ir_version=9)


def _positions() -> Sketch:
    """Adds a position to each token, expanded to the batch at hand."""
    return Sketch(
        [
            node("Shape", "x", "shape"),
            node("Expand", "table shape", "e"),
            node("Add", "x e", "a"),
            node("ReduceMax", "a", "y", axes=[1], keepdims=0),
        ],
        [TOKENS],
        weights={"table": weight(1, 5, 8)},
    )


def _einsum() -> Sketch:
    return Sketch([node("Einsum", "x w", "y", equation="nc,cd->nd")], weights={"w": weight(8, 8)})


def _instance_norm() -> Sketch:
    four = np.ones(4, np.float32)
    return Sketch(
        [CONV, node("InstanceNormalization", "c g b", "r"), *HEAD],
        [IMAGE],
        weights={**KERNEL, **HEAD_WEIGHTS, "g": four, "b": four},
    )


def noisy(*further: onnx.NodeProto, kind: int = T.FLOAT) -> Sketch:
    """Answers that differ by 2e-6 for each row of the batch, as other kernels' would."""
    return Sketch(
        [
            node("Shape", "x", "shape"),
            node("Gather", "shape zero", "n"),
            node("Cast", "n", "nf", to=T.FLOAT),
            node("Mul", "nf tiny", "step"),
            node("Add", "step one", "factor"),
            node("Mul", "x factor", "near"),
            *further,
        ],
        outputs=[("y", kind, ["N", 8])],
        weights={
            "zero": whole(0),
            "tiny": np.array(2e-6, np.float32),
            "one": np.array(1, np.float32),
            "fine": np.array(1e5, np.float32),
        },
    )


GOOD = [
    good("noise", noisy(node("Identity", "near", "y")), says=("e-05 of the largest",)),
    good("cnn", cnn()),
    good("mlp", _mlp()),
    good("minus_one_for_free", minus_one),
    good("wants_positive", Sketch([node("Sqrt", "x", "y")])),
    good("two_inputs", _two_inputs()),
    good("fp16", _fp16(), "O016", says=("FLOAT16",)),
    good("nhwc", _nhwc(), "O016", says=("NHWC",)),
    good("uint8", _uint8(), "O016", says=("UINT8",)),
    good("free_sides", _resize()),
    good("batch_norm", _batch_norm()),
    good("layer_norm", _layer_norm()),
    good("instance_norm", _instance_norm()),
    good("attention", _attention()),
    good("heads_in_the_batch", _heads()),
    good("gru", _recurrent("GRU", 3)),
    good("rnn", _recurrent("RNN", 1)),
    good("softmax", Sketch([node("Softmax", "x", "y", axis=-1)])),
    good(
        "argmax",
        Sketch([node("ArgMax", "x", "y", axis=1, keepdims=0)], outputs=[("y", T.INT64, ["N"])]),
    ),
    good("several_outputs", _several_outputs()),
    good("string_labels", _strings()),
    good("embedding", _embedding(), "O016", says=("INT64",)),
    good("if", _branch()),
    good("loop", _loop()),
    good("external_data", external),
    good("qdq", _qdq()),
    good("depthwise", _depthwise()),
    good("conv_transpose", _deconvolution()),
    good("function_body", _function()),
    good("positions", _positions()),
    good("einsum", _einsum()),
    good(
        "weights_as_inputs",
        Sketch(
            [node("MatMul", "x w", "y")],
            [ROWS, ("w", T.FLOAT, [8, 8])],
            weights={"w": weight(8, 8)},
        ),
        "O015",
    ),
    good(
        "one_symbol",
        Sketch(
            [node("ReduceMax", "x", "y", axes=[2], keepdims=0)], [("x", T.FLOAT, ["N", 8, "N"])]
        ),
        "O013",
    ),
    good(
        "fits_its_config",
        cnn(),
        config="""max_batch_size: 8
            input { name: "x" data_type: TYPE_FP32 dims: [3, 8, 8] }
            output { name: "y" data_type: TYPE_FP32 dims: [8] }""",
    ),
    good(
        "config_leaves_an_output_out",
        _several_outputs(),
        "O021",
        config="""max_batch_size: 8
            output [{ name: "y" data_type: TYPE_FP32 dims: [8] },
                    { name: "i" data_type: TYPE_INT64 dims: [3] }]""",
    ),
]

"""Models that do not batch, each in its own way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

from tests.validate.zoo import IMAGE, ROWS, Animal, Sketch, broken, node, value, weight, whole
from tests.validate.zoo_good import CONV, HEAD, HEAD_WEIGHTS, KERNEL, cnn, noisy

SQUARE = {"w": weight(8, 8)}
RELU = node("Relu", "x", "r")
FREE = [("y", T.FLOAT, ["M", 8])]


def leaking(name: str, guilty: str, *nodes: onnx.NodeProto, **weights: np.ndarray) -> Animal:
    return broken(name, "O035", guilty, Sketch(nodes, weights=weights))


def miscounting(name: str, guilty: str, *nodes: onnx.NodeProto, **weights: np.ndarray) -> Animal:
    return broken(name, "O033", guilty, Sketch(nodes, outputs=FREE, weights=weights))


def refusing(name: str, guilty: str, *nodes: onnx.NodeProto, **weights: np.ndarray) -> Animal:
    return broken(name, "O032 O033", guilty, Sketch(nodes, outputs=FREE, weights=weights))


def declaring(sketch: Sketch, first_in: int | str = 1, first_out: int | str = 1) -> Sketch:
    """The same with other first dimensions declared."""
    inputs = [(name, kind, [first_in, *shape[1:]]) for name, kind, shape in sketch.inputs]
    outputs = [(name, kind, [first_out, *shape[1:]]) for name, kind, shape in sketch.outputs]
    return Sketch(sketch.nodes, inputs, outputs, sketch.weights)


def noting(folder: Path) -> bytes:
    """Free inputs and outputs, and a fixed shape noted for a tensor between."""
    model = cnn().model()
    model.graph.value_info.append(value("f", T.FLOAT, [1, 4]))
    return bytes(model.SerializeToString())


def flattening(first: int = 1) -> Sketch:
    """Reshape to a fixed batch before the last layer: the classic."""
    nodes = [
        CONV,
        node("Relu", "c", "r"),
        HEAD[0],
        node("Reshape", "p to", "f", "flatten"),
        HEAD[2],
    ]
    weights = {**KERNEL, **HEAD_WEIGHTS, "to": whole(first, 4)}
    return Sketch(nodes, [IMAGE], [("y", T.FLOAT, ["N", 8])], weights)


def _batch_norm_training() -> Sketch:
    four = np.ones(4, np.float32)
    return Sketch(
        [
            CONV,
            node("BatchNormalization", "c g b m u", "r m2 u2", "norm", training_mode=1),
            *HEAD,
        ],
        [IMAGE],
        weights={**KERNEL, **HEAD_WEIGHTS, "g": four, "b": four, "m": four, "u": four},
    )


def _normalised_by_batch() -> Sketch:
    """Batch normalisation in training mode, written out as exporters do."""
    return Sketch(
        [
            CONV,
            node("ReduceMean", "c", "mean", "batch_mean", axes=[0, 2, 3]),
            node("Sub", "c mean", "r"),
            *HEAD,
        ],
        [IMAGE],
        weights={**KERNEL, **HEAD_WEIGHTS},
    )


def _dynamic_quantised() -> Sketch:
    return Sketch(
        [
            node("DynamicQuantizeLinear", "x", "q s z", "quantise"),
            node("MatMulInteger", "q w z", "i"),
            node("Cast", "i", "f", to=T.FLOAT),
            node("Mul", "f s", "y"),
        ],
        weights={"w": np.random.default_rng(1).integers(-9, 9, (8, 8)).astype(np.int8)},
    )


def _nan_in_company() -> Sketch:
    """The logarithm of 1.5 less the batch size."""
    return Sketch(
        [
            node("Shape", "x", "shape"),
            node("Gather", "shape zero", "n"),
            node("Cast", "n", "nf", to=T.FLOAT),
            node("Sub", "limit nf", "left"),
            node("Log", "left", "log", "log"),
            node("Add", "x log", "y"),
        ],
        weights={"zero": whole(0), "limit": np.array(1.5, np.float32)},
    )


def _grows_with_the_batch() -> Sketch:
    """Each row has as many columns as there are rows."""
    return Sketch(
        [
            node("Transpose", "x", "t", perm=[1, 0]),
            node("MatMul", "x t", "g", "gram"),
            node("Relu", "g", "y"),
        ],
        outputs=[("y", T.FLOAT, ["N", "M"])],
    )


def _branch_leaks() -> Sketch:
    def body(op_type: str, **attributes: object) -> onnx.GraphProto:
        inner = [node(op_type, "x", "z", f"inner_{op_type}", **attributes)]
        return helper.make_graph(inner, op_type, [], [value("z", T.FLOAT, ["N", 8])])

    mix = body("Softmax", axis=0)
    return Sketch(
        [
            node("Constant", "", "yes", value=helper.make_tensor("t", T.BOOL, [], [True])),
            node(
                "If",
                "yes",
                "y",
                "choose",
                then_branch=mix,
                else_branch=body("Neg"),
            ),
        ]
    )


def _in_one_row(name: str, lay: onnx.NodeProto, *nodes: onnx.NodeProto) -> Animal:
    """All items in one row, which the layer that follows can't multiply."""
    weights = {"to": whole(1, -1), **SQUARE}
    return broken(f"one_row_{name}", "O032", "lay", Sketch([lay, *nodes], weights=weights))


def _folded_and_refused() -> Sketch:
    """Folded into the first axis, and rightly so; what is added has the size of one batch."""
    return Sketch(
        [
            node("Reshape", "x fold", "h", "fold"),
            node("Add", "h four", "a", "add"),
            node("Reshape", "a back", "y", "back"),
        ],
        weights={"fold": whole(-1, 4), "back": whole(-1, 8), "four": BATCH_SIZED[:, :4][:2]},
    )


def _dropout() -> Sketch:
    return Sketch(
        [node("Dropout", "x rate training", "y", "dropout")],
        weights={"rate": np.array(0.5, np.float32), "training": np.array(True)},
    )


def _fixed_side_input() -> Sketch:
    """Free images, and a second input that is declared for one."""
    return Sketch([node("Add", "x b", "y")], [ROWS, ("b", T.FLOAT, [1, 8])])


def _wrong_output_dims(folder: Path) -> bytes:
    """A reshape by a computed shape hides from ONNX Runtime what comes out."""
    return Sketch(
        [
            node("Shape", "x", "s"),
            node("Reshape", "x s", "z"),
            node("Abs", "s", "t"),
            node("Reshape", "z t", "y"),
        ],
        [("x", T.FLOAT, ["N", "C"])],
        [("y", T.FLOAT, ["N", 10])],
    )(folder)


TIE = noisy(
    node("Mul", "near fine", "large"),
    node("Cast", "large", "y", "step", to=T.INT64),
    kind=T.INT64,
)
INDIFFERENT = Sketch([node("Mul", "x zero", "y")], weights={"zero": np.zeros(8, np.float32)})
ACOS = node("Acos", "c", "y", "root")
BATCH_SIZED = np.arange(32, dtype=np.float32).reshape(4, 8)
LAID_IN_ONE_ROW = [
    _in_one_row("matmul", node("Reshape", "x to", "r", "lay"), node("MatMul", "r w", "y")),
    _in_one_row("gemm", node("Reshape", "x to", "r", "lay"), node("Gemm", "r w", "y")),
    _in_one_row("flat", node("Flatten", "x", "r", "lay", axis=0), node("Gemm", "r w", "y")),
    _in_one_row(
        "and_on",
        node("Reshape", "x to", "r", "lay"),
        node("Relu", "r", "p"),
        node("MatMul", "p w", "y"),
    ),
]
BROKEN = [
    leaking(
        "mixed_in_one_row",
        "lay",
        node("Reshape", "x to", "r", "lay"),
        node("Softmax", "r", "p", "mix"),
        node("Reshape", "p back", "y"),
        to=whole(1, -1),
        back=whole(-1, 8),
    ),
    leaking(
        "mixed_after_one_row",
        "mix",
        node("Reshape", "x to", "r"),
        node("Relu", "r", "p"),
        node("Reshape", "p back", "b"),
        node("Softmax", "b", "y", "mix", axis=0),
        to=whole(1, -1),
        back=whole(-1, 8),
    ),
    broken("fixed_batch", "O010 O032", "flatten", declaring(flattening()), says=("'x' (1)",)),
    broken(
        "fixed_in_metadata", "O011", None, declaring(cnn()), says=("fixable metadata", "'x' (1)")
    ),
    broken("fixed_four_in_metadata", "O011", None, declaring(cnn(), 4, 4), says=("'x' (4)",)),
    broken("fixed_output_in_metadata", "O011", None, declaring(cnn(), "N", 1), says=("'y' (1)",)),
    broken("one_input_fixed_in_metadata", "O011", None, _fixed_side_input(), says=("'b' (1)",)),
    broken("fixed_inside_metadata", "O011", None, noting, says=("infers output 'y' [1, 8]",)),
    broken("reshape_to_one", "O032", "flatten", flattening()),
    broken("reshape_to_four", "O032", "flatten", flattening(4), says=("batch 4 and not at 1",)),
    miscounting(
        "reshape_collapses", "collapse", node("Reshape", "x to", "y", "collapse"), to=whole(1, -1)
    ),
    leaking("softmax_over_batch", "mix", node("Softmax", "x", "y", "mix", axis=0)),
    leaking(
        "minus_batch_mean",
        "mean",
        node("ReduceMean", "x", "m", "mean", axes=[0]),
        node("Sub", "x m", "y"),
    ),
    broken("batch_norm_training", "O039", "norm", _batch_norm_training()),
    broken("normalised_by_batch", "O035", "batch_mean", _normalised_by_batch()),
    leaking(
        "cumulative_sum", "sum", node("CumSum", "x zero", "y", "sum"), zero=np.array(0, np.int64)
    ),
    leaking(
        "sorted_rows",
        "sort",
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n"),
        node("TopK", "x n", "y i", "sort", axis=0),
        zero=whole(0),
    ),
    broken(
        "reversed_rows",
        "O034",
        "reverse",
        Sketch(
            [node("Slice", "x from to axis step", "y", "reverse")],
            weights={"from": whole(-1), "to": whole(-(2**31)), "axis": whole(0), "step": whole(-1)},
        ),
    ),
    miscounting(
        "transposed",
        "turn",
        node("Transpose", "x", "t", "turn", perm=[1, 0]),
        node("MatMul", "w t", "y"),
        w=weight(8, 8),
    ),
    miscounting("mean_over_batch", "mean", node("ReduceMean", "x", "y", "mean", axes=[0])),
    miscounting(
        "tiled",
        "tile",
        node("Tile", "x twice", "t", "tile"),
        node("Softmax", "t", "y"),
        twice=whole(2, 1),
    ),
    miscounting(
        "one_row_more", "append", node("Concat", "x w", "y", "append", axis=0), w=weight(1, 8)
    ),
    miscounting(
        "first_row_only",
        "first",
        node("Gather", "x zero", "g", "first"),
        node("Relu", "g", "y"),
        zero=whole(0),
    ),
    broken(
        "squeezed",
        "O033",
        "squeeze",
        Sketch(
            [
                node("ReduceMax", "x", "p", axes=[2, 3]),
                node("Squeeze", "p", "s", "squeeze"),
                node("Softmax", "s", "y"),
            ],
            [IMAGE],
            [("y", T.FLOAT, None)],
        ),
    ),
    refusing(
        "constant_of_batch_size",
        "add",
        node("MatMul", "x w", "m"),
        node("Add", "m four", "y", "add"),
        **SQUARE,
        four=BATCH_SIZED,
    ),
    *LAID_IN_ONE_ROW,
    broken("folded_and_refused", "O032", "add", _folded_and_refused()),
    refusing("expanded_to_four", "expand", node("Expand", "x to", "y", "expand"), to=whole(4, 8)),
    broken("quantised_dynamically", "O036", "quantise", _dynamic_quantised(), says=("top-1",)),
    broken("gram_matrix", "O038", "gram", _grows_with_the_batch()),
    leaking(
        "einsum_mixes",
        "mix",
        node("Einsum", "x x w", "y", "mix", equation="nc,mc,cd->nd"),
        **SQUARE,
    ),
    broken("neighbour_through_if", "O035", "choose", _branch_leaks()),
    leaking(
        "shifted_from_neighbour",
        "cut",
        node("Slice", "x from to axis", "s", "cut"),
        node("Pad", "s pads", "p", "pad"),
        node("Add", "x p", "y"),
        **{"from": whole(0), "to": whole(-1), "axis": whole(0), "pads": whole(1, 0, 0, 0)},
    ),
    broken("rounding_tie", "O040", "step", TIE),
    broken(
        "random_noise",
        "O039",
        "noise",
        Sketch([node("RandomNormalLike", "x", "n", "noise"), node("Add", "x n", "y")]),
    ),
    broken(
        "random_uniform",
        "O039",
        "noise",
        Sketch([node("RandomUniform", "", "n", "noise", shape=[1, 8]), node("Add", "x n", "y")]),
    ),
    broken("dropout_training", "O039", "dropout", _dropout()),
    broken("nan_in_company", "O037", "log", _nan_in_company()),
    broken("indifferent", "O044", None, INDIFFERENT),
    broken("fixed_indifferent", "O011 O044", None, declaring(INDIFFERENT)),
    broken("fixed_quantised", "O011 O036", "quantise", declaring(_dynamic_quantised())),
    broken("nan_alone", "O037", "root", Sketch([node("Cosh", "x", "c"), ACOS])),
    broken("wrong_output_dims", "O017 O042", None, _wrong_output_dims),
]

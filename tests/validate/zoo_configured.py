"""Models beside configurations that decide how they are judged: completed, unbatched, ragged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T

from tests.validate.zoo import ROWS, Animal, Sketch, broken, good, node, weight, whole
from tests.validate.zoo_broken import declaring
from tests.validate.zoo_good import cnn

IO = 'input {{ name: "x" data_type: TYPE_FP32 {} }}\noutput {{ name: "y" data_type: TYPE_FP32 {} }}'
SOFTMAX = Sketch([node("Softmax", "x", "y", "mix", axis=0)])
ONE_OUTPUT = [("y", T.FLOAT, ["N", 1])]
MEAN_OF_ROW = node("ReduceMean", "x", "y", axes=[1])


def config(batch: int, into: str, out: str, more: str = "") -> str:
    return f"max_batch_size: {batch}\n{IO.format(into, out)}\n{more}"


def with_config(
    name: str,
    codes: str,
    text: str,
    sketch: Callable[[Path], bytes],
    guilty: str | None = None,
    says: tuple[str, ...] = (),
) -> Animal:
    return broken(name, codes, guilty, sketch, config=text, says=says)


def _undefined_input() -> Sketch:
    return Sketch([node("Add", "x q", "y")])


def _root() -> Sketch:
    """NaN for whatever it is fed."""
    return Sketch([node("Cosh", "x", "c"), node("Acos", "c", "y", "root")])


def _four_rows() -> Sketch:
    """Only four rows at once: it runs at its own shape and at no other."""
    return declaring(Sketch([node("Reshape", "x to", "y")], weights={"to": whole(4, 8)}), 4, 4)


def _scalar() -> Sketch:
    return Sketch(
        [node("ReduceSum", "x", "y", keepdims=0)], [("x", T.FLOAT, ["A", 8])], [("y", T.FLOAT, [])]
    )


def _pairs() -> Sketch:
    """Wants two by four, which only a reshape makes of eight."""
    return Sketch(
        [node("Add", "x w", "y")],
        [("x", T.FLOAT, ["N", "A", "B"])],
        [("y", T.FLOAT, ["N", "A", "B"])],
        {"w": weight(2, 4)},
    )


def _ragged() -> Sketch:
    """As Triton's guide has it: all requests in one row, and where each of them ends."""
    return Sketch(
        [
            node("Unsqueeze", "INDEX one", "ends"),
            node("ReduceSum", "x zero", "sum", keepdims=0),
            node("Add", "ends sum", "y"),
        ],
        [("x", T.FLOAT, ["K"]), ("INDEX", T.FLOAT, ["N"])],
        ONE_OUTPUT,
        {"one": whole(1), "zero": whole(0)},
    )


def _two_inputs() -> Sketch:
    return Sketch([node("Add", "x z", "y")], [ROWS, ("z", T.FLOAT, ["N", 8])])


def _default(folder: Path) -> bytes:
    """An input that an initialiser fills where nobody else does."""
    model = _two_inputs().model()
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((1, 8), np.float32), "z"))
    return bytes(model.SerializeToString())


PLAIN = ("dims: 8", "dims: 8")
WHOLE = ("dims: [-1, 8]", "dims: [-1, 8]")
RAGGED = ("dims: -1 allow_ragged_batch: true", "dims: 1")
INDEX = """batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT target_name: "INDEX"
  data_type: TYPE_FP32 source_input: "x" }"""
CUT = """batch_output { kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: "y"
  source_input: "x" }"""
OPTIONAL = 'input { name: "z" data_type: TYPE_FP32 dims: %s optional: true }'
SIZES = ("dims: [3, 8, 8]", "dims: 8")
CONFIGURED = [
    with_config("completed", "O042", "max_batch_size: 0", cnn(), says=("at 1, 2, 3 and 4;",)),
    with_config("completed_without_a_file", "O035", "", SOFTMAX, "mix"),
    with_config("completed_inputs", "O035", 'backend: "onnxruntime"', SOFTMAX, "mix"),
    with_config("completed_fixed", "", "", declaring(cnn())),
    with_config("not_completed", "", 'backend: "python"', SOFTMAX),
    with_config("does_not_batch", "O024", config(0, "dims: [-1, 3, 8, 8]", "dims: [-1, 8]"), cnn()),
    with_config("unbatched_leak", "", config(0, *WHOLE), SOFTMAX),
    with_config("unbatched_undefined", "O030", config(0, *WHOLE), _undefined_input()),
    with_config("unbatched_nan", "O037", config(0, *WHOLE), _root(), "root"),
    with_config("unbatched_four", "", config(0, "dims: [4, 8]", "dims: [4, 8]"), _four_rows()),
    with_config(
        "unbatched_four_nan",
        "O037",
        config(0, "dims: [4, 8]", "dims: [4, 8]"),
        declaring(_root(), 4, 4),
        "root",
    ),
    with_config("unbatched_scalar", "", config(0, "dims: [-1, 8]", "dims: 1"), _scalar()),
    with_config(
        "unbatched_scalar_of_two", "O023", config(0, "dims: [-1, 8]", "dims: 2"), _scalar()
    ),
    with_config("batch_below_zero", "", config(-1, *PLAIN), SOFTMAX),
    with_config("ragged", "O003", config(8, *RAGGED, INDEX), _ragged()),
    with_config(
        "ragged_with_a_batch_axis",
        "O023 O003",
        config(8, *RAGGED),
        Sketch([MEAN_OF_ROW], [("x", T.FLOAT, ["N", "T"])], ONE_OUTPUT),
        says=("expected [-1]",),
    ),
    with_config(
        "ragged_undefined",
        "O030 O003",
        config(8, *RAGGED),
        Sketch([node("Add", "x q", "y")], [("x", T.FLOAT, ["K"])], [("y", T.FLOAT, ["N", 1])]),
    ),
    with_config("optional", "O025 O042", config(8, *PLAIN, OPTIONAL % "8"), _two_inputs()),
    with_config(
        "optional_unbatched",
        "O025 O024",
        config(0, *WHOLE, OPTIONAL % "[-1, 8]"),
        _two_inputs(),
    ),
    with_config(
        "optional_with_a_default", "O015 O024", config(0, *WHOLE, OPTIONAL % "[-1, 8]"), _default
    ),
    with_config(
        "type_without_a_name",
        "O022 O042",
        config(8, *SIZES).replace("TYPE_FP32", "99", 1),
        cnn(),
        says=("99, which is no type",),
    ),
    with_config(
        "output_wider_in_the_model",
        "O023 O042",
        config(8, *PLAIN),
        Sketch(
            [node("Relu", "x", "y")], [("x", T.FLOAT, ["N", "M"])], [("y", T.FLOAT, ["N", "M"])]
        ),
        says=("infers [N, M]; expected [-1]",),
    ),
    with_config(
        "output_inferred_as_configured",
        "O042",
        config(8, *PLAIN),
        Sketch([node("Relu", "x", "y")], outputs=[("y", T.FLOAT, ["N", "M"])]),
    ),
    with_config(
        "output_of_a_fixed_batch",
        "O011 O023",
        config(8, "dims: 8", "dims: 8"),
        declaring(
            Sketch([node("Relu", "x", "y")], [("x", T.FLOAT, [1, "M"])], [("y", T.FLOAT, [1, "M"])])
        ),
    ),
    with_config(
        "output_of_a_ragged_model_is_cut",
        "O003",
        config(8, *RAGGED, CUT),
        Sketch([node("Relu", "x", "y")], [("x", T.FLOAT, ["K"])], [("y", T.FLOAT, ["K"])]),
    ),
    good(
        "reshaped",
        _pairs(),
        config=config(4, *["dims: 8 reshape { shape: [2, 4] }"] * 2),
    ),
]

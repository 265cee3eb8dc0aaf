"""What an ONNX file says of itself, and whether it is a classifier that can be served."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ensemble.errors import ContractMismatch
from ensemble.tensors import NUMPY_NAMES
from ensemble.transform import MAX_SIDE
from tools.importer.graph import check, external_files, last_operator, load, package, short

Array = np.ndarray[Any, Any]

DTYPES = {"tensor(float)": "FP32", "tensor(float16)": "FP16"}
"""ONNX Runtime's name to Triton's. Nothing between the stages casts, so there are no others."""
PROBABILITIES = ("Softmax", "Sigmoid", "HardSigmoid")
"""Last operators after which nothing is left to do for a score."""


@dataclass(frozen=True)
class Tensor:
    """One end of the model.

    Attributes:
        name: the model's own.
        dtype: ONNX Runtime's word, for example ``tensor(float)``.
        shape: with the batch axis; None is any size.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    def __str__(self) -> str:
        """Name, dtype and shape, for messages."""
        sides = ", ".join("any" if side is None else str(side) for side in self.shape)
        return f"{self.name} {self.dtype} [{sides}]"


@dataclass(frozen=True)
class Model:
    """What importing needs to know of an ONNX file.

    Attributes:
        path: the file.
        input: its image.
        output: the output that was chosen.
        weights: files beside it that hold tensors, relative to its folder.
        last_operator: what computes the output, past what does nothing to scores; or None.
        classes: length of the output when the model ran.
        sums_to_one: whether its rows were probabilities then.
        within_one: whether all of them were numbers of 0..1 then.
    """

    path: Path
    input: Tensor
    output: Tensor
    weights: tuple[str, ...] = ()
    last_operator: str | None = None
    classes: int = 0
    sums_to_one: bool = False
    within_one: bool = False

    @property
    def layout(self) -> str:
        """``CHW`` or ``HWC``, whichever has the three channels."""
        return "CHW" if self.input.shape[1] == 3 else "HWC"

    @property
    def height_width(self) -> tuple[int | None, int | None]:
        """Of its images, pixels; None where any will do."""
        first = 2 if self.layout == "CHW" else 1
        height, width = self.input.shape[first : first + 2]
        return height, width


def read(path: Path, output: str | None = None, size: tuple[int, int] = (224, 224)) -> Model:
    """Read and check an ONNX file; external weights are looked for, not loaded by hand.

    Args:
        path: the file.
        output: the one to use where there are several.
        size: height and width to run it with where it takes any, pixels.

    Raises:
        ContractMismatch: not ONNX, weights missing, or not a batched image classifier.
    """
    proto = load(path)
    weights = tuple(sorted(set(external_files(proto, path))))
    check(proto, path, weights)
    session, inputs, outputs = _open(path)
    image, chosen = _image(path, inputs), _choose(path, outputs, output)
    model = Model(path, image, chosen, weights, last_operator(proto.graph, chosen.name))
    rows = _run(session, model, size)
    within = bool(((rows >= 0) & (rows <= 1)).all())
    sums = _sums_to_one(rows)
    return replace(model, classes=rows.shape[1], sums_to_one=sums, within_one=within)


def _tensor(info: Any) -> Tensor:
    sides = tuple(side if isinstance(side, int) and side > 0 else None for side in info.shape)
    return Tensor(info.name, info.type, sides)


def _open(path: Path) -> tuple[Any, list[Tensor], list[Tensor]]:
    """A session, its inputs and its outputs."""
    onnxruntime = package("onnxruntime")
    from classifier.session import open_session

    onnxruntime.set_default_logger_severity(4)  # what it has to say comes as exceptions too
    try:
        session = open_session(path, num_threads=1)
        inputs = [_tensor(info) for info in session.get_inputs()]
        return session, inputs, [_tensor(info) for info in session.get_outputs()]
    except Exception as error:  # ONNX Runtime has a class for each status
        raise ContractMismatch(f"{path}: ONNX Runtime refuses it: {short(error)}") from error


def _image(path: Path, inputs: list[Tensor]) -> Tensor:
    if len(inputs) != 1:
        raise ContractMismatch(
            f"{path}: expected one input, an image; got {len(inputs)}: {_listed(inputs)}"
        )
    (image,) = inputs
    if len(image.shape) != 4 or 3 not in (image.shape[1], image.shape[3]):
        raise ContractMismatch(
            f"{path}: input {image}: expected [any, 3, height, width] or [any, height, width, 3], "
            "a colour image"
        )
    if any(side is not None and side > MAX_SIDE for side in image.shape[1:]):
        raise ContractMismatch(f"{path}: input {image}: expected at most {MAX_SIDE} pixels a side")
    _check(path, "input", image)
    return image


def _choose(path: Path, outputs: list[Tensor], name: str | None) -> Tensor:
    named = [tensor for tensor in outputs if name in (None, tensor.name)]
    if len(named) != 1:
        raise ContractMismatch(
            f"{path}: expected --output to name one of {_listed(outputs)}; got {name or 'none'}"
        )
    (chosen,) = named
    if len(chosen.shape) != 2:
        raise ContractMismatch(f"{path}: output {chosen}: expected [any, classes]")
    _check(path, "output", chosen)
    return chosen


def _check(path: Path, role: str, tensor: Tensor) -> None:
    if tensor.dtype not in DTYPES:
        raise ContractMismatch(
            f"{path}: {role} {tensor}: expected one of {', '.join(DTYPES)}; "
            "no stage casts to or from another type without loss: export it with one of these"
        )
    if tensor.shape[0] is not None:
        raise ContractMismatch(
            f"{path}: {role} {tensor}: expected a first axis of any size, got {tensor.shape[0]}: "
            "Triton can't batch it; export it with a dynamic batch axis"
        )


def _run(session: Any, model: Model, size: tuple[int, int]) -> Array:
    """Two rows of the output for two images of noise; says the number of classes for sure."""
    dtype = NUMPY_NAMES[f"TYPE_{DTYPES[model.input.dtype]}"]
    height, width = (side or size[n] for n, side in enumerate(model.height_width))
    image = (3, height, width) if model.layout == "CHW" else (height, width, 3)
    noise = np.random.default_rng(0).standard_normal((2, *image), np.float32).astype(dtype)
    try:
        (rows,) = session.run([model.output.name], {model.input.name: noise})
    except Exception as error:  # ONNX Runtime has a class for each status
        raise ContractMismatch(f"{model.path}: fails on a batch of two: {short(error)}") from error
    if rows.ndim != 2 or len(rows) != 2:
        raise ContractMismatch(
            f"{model.path}: output {model.output.name}: expected 2 rows of classes for 2 images, "
            f"got the shape {list(rows.shape)}"
        )
    return np.asarray(rows)


def _sums_to_one(rows: Array) -> bool:
    if not (np.isfinite(rows) & (rows >= 0)).all():
        return False
    return bool(np.allclose(rows.sum(axis=1, dtype=np.float64), 1.0, atol=1e-2))


def _listed(tensors: list[Tensor]) -> str:
    return ", ".join(map(str, tensors))

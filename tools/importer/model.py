"""What an ONNX file says of itself, and whether it is a classifier that can be served."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ensemble.errors import ContractMismatch

DTYPES = {"tensor(float)": "FP32", "tensor(float16)": "FP16"}
"""ONNX Runtime's name to Triton's. Nothing between the stages casts, so there are no others."""
PROBABILITIES = {"Softmax": "none", "Sigmoid": "none"}
"""Last operators after which nothing is left to do for a score."""
_SHAPE_ONLY = ("Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose")


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
        classes: length of that output.
        last_operator: what computes it, casts and reshapes aside; None for nothing.
        sums_to_one: whether its rows were probabilities when the model ran.
        weights: files beside it that hold tensors, relative to its folder.
    """

    path: Path
    input: Tensor
    output: Tensor
    classes: int
    last_operator: str | None
    sums_to_one: bool
    weights: tuple[str, ...]

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


def read(path: Path, output: str | None = None) -> Model:
    """Read and check an ONNX file; external weights are looked for, not loaded by hand.

    Args:
        path: the file.
        output: the one to use where there are several.

    Raises:
        ContractMismatch: not ONNX, weights missing, or not a batched image classifier.
    """
    import onnx

    try:
        proto = onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf's and onnx's own kinds
        reason = error.strerror if isinstance(error, OSError) else "not an ONNX model"
        raise ContractMismatch(f"{path}: expected an ONNX file, got {reason}") from error
    weights = tuple(sorted(set(_external(proto, path))))
    session = _open(path)
    image = _image(path, [_tensor(i) for i in session.get_inputs()])
    chosen = _choose(path, [_tensor(o) for o in session.get_outputs()], output)
    rows = _run(path, session, image, chosen)
    return Model(
        path=path,
        input=image,
        output=chosen,
        classes=rows.shape[1],
        last_operator=_last_operator(proto.graph, chosen.name),
        sums_to_one=_sums_to_one(rows),
        weights=weights,
    )


def _tensor(info: Any) -> Tensor:
    sides = tuple(side if isinstance(side, int) and side > 0 else None for side in info.shape)
    return Tensor(info.name, info.type, sides)


def _external(proto: Any, path: Path) -> Iterator[str]:
    """Names of the files that hold weights, each seen to be there."""
    for tensor in _tensors(proto.graph):
        for entry in tensor.external_data:
            if entry.key != "location":
                continue
            folder = path.parent.resolve()
            file = (folder / entry.value).resolve()
            if not file.is_relative_to(folder):
                raise ContractMismatch(
                    f"{path}: {tensor.name}: expected its weights below {folder}, got {entry.value}"
                )
            if not file.is_file():
                raise ContractMismatch(
                    f"{path}: {tensor.name}: its weights are in {entry.value}, and {file} is not "
                    "there: keep the file beside the model"
                )
            yield file.relative_to(folder).as_posix()


def _tensors(graph: Any) -> Iterator[Any]:
    """Initialisers and constants, of subgraphs too."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for subgraph in [
                *attribute.graphs,
                *([attribute.g] if attribute.HasField("g") else []),
            ]:
                yield from _tensors(subgraph)


def _open(path: Path) -> Any:
    import onnxruntime

    from classifier.session import open_session

    onnxruntime.set_default_logger_severity(3)  # its warnings are about the file's own graph
    try:
        return open_session(path, num_threads=1)
    except Exception as error:  # ONNX Runtime has a class for each status
        raise ContractMismatch(f"{path}: ONNX Runtime refuses it: {_short(error)}") from error


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


def _run(path: Path, session: Any, image: Tensor, chosen: Tensor) -> np.ndarray[Any, Any]:
    """Two rows of the output for two images of noise; says the number of classes for sure."""
    dtype = {"FP32": np.float32, "FP16": np.float16}[DTYPES[image.dtype]]
    shape = (2, *(224 if side is None else side for side in image.shape[1:]))
    noise = np.random.default_rng(0).normal(size=shape).astype(dtype)
    try:
        (rows,) = session.run([chosen.name], {image.name: noise})
    except Exception as error:  # ONNX Runtime has a class for each status
        raise ContractMismatch(f"{path}: fails on a batch of two: {_short(error)}") from error
    if rows.ndim != 2 or len(rows) != 2:
        raise ContractMismatch(
            f"{path}: output {chosen.name}: expected 2 rows of classes for 2 images, "
            f"got the shape {list(rows.shape)}"
        )
    return np.asarray(rows)


def _sums_to_one(rows: np.ndarray[Any, Any]) -> bool:
    sums = rows.astype(np.float64).sum(axis=1)
    return bool((rows >= 0).all() and np.allclose(sums, 1.0, atol=1e-2))


def _last_operator(graph: Any, name: str) -> str | None:
    """The operator that computes a tensor, past those that only cast it or change its shape."""
    producers = {output: node for node in graph.node for output in node.output}
    while name in producers and producers[name].op_type in _SHAPE_ONLY:
        name = producers[name].input[0]
    return str(producers[name].op_type) if name in producers else None


def _listed(tensors: list[Tensor]) -> str:
    return ", ".join(map(str, tensors))


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]

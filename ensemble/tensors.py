"""The tensors between the stages, by role. Shapes are without the batch axis, as in Triton.

::

    IMAGE ──preprocess──▶ PIXELS ──classifier──▶ LOGITS ──postprocess──▶ CLASS_ID, SCORE, LABEL
"""

from __future__ import annotations

from dataclasses import dataclass

from ensemble.errors import ContractMismatch
from ensemble.transform import Transform


@dataclass(frozen=True)
class TensorSpec:
    """One input or output of a model.

    Attributes:
        name: the tensor's name, the same in every stage and in the ensemble.
        data_type: Triton's name in ``config.pbtxt``, for example ``TYPE_UINT8``.
        dims: without the batch axis; -1 is any size.
    """

    name: str
    data_type: str
    dims: tuple[int, ...]


NUMPY_NAMES = {"TYPE_FP32": "float32", "TYPE_FP16": "float16"}
"""What normalised pixels and logits may be, and numpy's name of it."""

LEVELS = "TYPE_UINT8"
"""Of PIXELS that are whole levels of 0..255, not normalised yet."""

IMAGE = TensorSpec("IMAGE", "TYPE_UINT8", (-1,))


def pixels(transform: Transform) -> TensorSpec:
    """What ``preprocess`` hands to ``classifier``, in the transform's layout and dtype."""
    return TensorSpec("PIXELS", f"TYPE_{transform.dtype}", transform.pixels_shape)


def levels(transform: Transform) -> TensorSpec:
    """The same before mean and std, for a classifier that normalises: a quarter of the bytes."""
    return TensorSpec("PIXELS", LEVELS, transform.pixels_shape)


def logits(classes: int, data_type: str = "TYPE_FP32") -> TensorSpec:
    """One number a class, as the classifier gives it."""
    return TensorSpec("LOGITS", data_type, (classes,))


def answers(top_k: int) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    """The ``top_k`` best classes, best first: number, probability, name."""
    return (
        TensorSpec("CLASS_ID", "TYPE_INT32", (top_k,)),
        TensorSpec("SCORE", "TYPE_FP32", (top_k,)),
        TensorSpec("LABEL", "TYPE_STRING", (top_k,)),
    )


def check_declared(declared: list[dict[str, object]], expected: tuple[TensorSpec, ...]) -> None:
    """Compare what a model's configuration declares with what its code serves.

    Args:
        declared: ``input`` or ``output`` of the model configuration, as Triton's JSON has it.
        expected: what the code takes or gives.

    Raises:
        ContractMismatch: with both sides.
    """
    got = {
        str(tensor["name"]): (tensor["data_type"], tuple(int(d) for d in tensor["dims"]))  # type: ignore[attr-defined]
        for tensor in declared
    }
    wanted = {spec.name: (spec.data_type, spec.dims) for spec in expected}
    if got != wanted:
        raise ContractMismatch(f"config.pbtxt declares {got}, the code serves {wanted}")

"""How far two answers may be apart and still be the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tools.validate.model.session import Array

# A runtime picks another kernel or splits a sum otherwise for another batch size, so sums of a
# layer round differently. Random rounding of sums of 1000 products in float32 is about
# sqrt(1000) = 32 units in the last place; float16 is added up in float32 and rounded once a layer,
# at most 8 units with what is passed on. Layers add up like a random walk: the square root.
UNITS = {"float32": 32.0, "float64": 32.0, "float16": 8.0}
# Below this part of the largest value no answer changes; GPUs' own kernels differ by as much.
# Source: triton-inference-server/server issue 5640 (1e-4 between batch sizes is no fault).
FLOOR = {"float32": 1e-4, "float64": 1e-9, "float16": 4e-3}
# And what is more is no noise, however deep the model.
CEILING = {"float32": 1e-2, "float64": 1e-2, "float16": 5e-2}


@dataclass(frozen=True)
class Noise:
    """The bound of rounding noise for a model.

    Attributes:
        depth: nodes on the longest path.
        sensitivity: output name to how far it moved, at most, when each input of an item was
            moved by one unit in the last place.
    """

    depth: int
    sensitivity: dict[str, float]

    def bound(self, name: str, alone: Sequence[Array]) -> float:
        """The largest difference that is still noise, in the tensor's own unit; 0 for integers."""
        dtype = alone[0].dtype
        if dtype.kind != "f":
            return 0.0
        kind = dtype.name
        growth = UNITS[kind] * np.sqrt(1 + self.depth)
        scale = largest(alone)
        reasoned = growth * max(float(np.finfo(dtype).eps) * scale, self.sensitivity.get(name, 0.0))
        return float(np.clip(reasoned, FLOOR[kind] * scale, CEILING[kind] * scale))


def largest(arrays: Sequence[Array]) -> float:
    """The largest finite absolute value of all."""
    numbers = [array for array in arrays if array.dtype.kind in "fiu"]
    sizes = [np.abs(a[np.isfinite(a)].astype(np.float64)) for a in numbers]
    return max((float(size.max()) for size in sizes if size.size), default=0.0)


def distance(left: Array, right: Array) -> float:
    """The largest difference; infinite between other shapes or types, or NaN and a number."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return float("inf")
    if left.dtype.kind != "f":
        return 0.0 if np.array_equal(left, right) else float("inf")
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    if same.all():
        return 0.0
    gap = np.abs(left[~same].astype(np.float64) - right[~same].astype(np.float64))
    return float(np.nan_to_num(gap, nan=np.inf, posinf=np.inf).max())


def origin(batch: Array, alone: Sequence[Array], order: Sequence[int], bound: float) -> list[int]:
    """For each row of a batch the item whose answer alone it is; -1 if it is no item's.

    Its own item is tried first, then the others of the batch.
    """
    found = []
    for row, own in enumerate(order):
        candidates = [own, *(item for item in order if item != own)]
        here = batch[row : row + 1]
        fits = (item for item in candidates if distance(here, alone[item]) <= bound)
        found.append(next(fits, -1))
    return found


def answers_flipped(batch: Array, alone: Sequence[Array], order: Sequence[int]) -> int:
    """How many rows have their largest value elsewhere than alone (top-1)."""
    rows = zip(batch, order, strict=True)
    return sum(int(np.argmax(row) != np.argmax(alone[item][0])) for row, item in rows)


def is_explained(batch: Array, alone: Sequence[Array], bound: float) -> bool:
    """Whether a tensor inside the model is made of what each item has alone.

    The batch may lie along any axis, before or behind what shares that axis with it (sequence
    first, heads folded into the batch). A tensor that is the same for all items needs no batch.

    Args:
        batch: the tensor for the batch.
        alone: the same tensor for each item of the batch alone, in order.
        bound: of rounding noise.
    """
    if all(distance(batch, one) <= bound for one in alone):
        return True
    shapes = {one.shape for one in alone}
    if len(shapes) > 1 or alone[0].ndim != batch.ndim:
        return False
    return any(
        distance(batch, candidate) <= bound
        for axis in range(batch.ndim)
        if batch.shape[axis] == len(alone) * alone[0].shape[axis]
        for candidate in (np.concatenate(alone, axis), _interleaved(alone, axis))
    )


def _interleaved(alone: Sequence[Array], axis: int) -> Array:
    stacked = np.stack(alone, axis + 1)
    shape = list(alone[0].shape)
    shape[axis] *= len(alone)
    return stacked.reshape(shape)

"""Inputs made up for a model: like photographs where it takes images, safe numbers elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tools.validate.model.session import NUMPY_TYPES, Array, Session, Wanted

WORDS = ("cat", "espresso", "missile", "", "zebra")
GRID = 8
COLOURS = (1, 3, 4)
# Of an image's free side, and of any other free axis: what published models want.
SIZES = ((224, 16), (64, 8), (32, 128), (28, 4), (299, 3), (384, 2), (512, 64), (8, 10), (1, 1))


@dataclass(frozen=True)
class Recipe:
    """How to fill what a model leaves open.

    Attributes:
        side: of an image, pixels.
        length: of any other free axis.
        below: whole numbers stay below this, so that they are valid indices.
        sizes: input name to its dimensions, -1 where free (from a config); 1 for the batch.
        positive: leaves out what is below 0, for models that take a root or a logarithm.
    """

    side: int
    length: int
    below: int
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    positive: bool = False


def recipes(inputs: Sequence[Wanted], sizes: dict[str, tuple[int, ...]]) -> Iterator[Recipe]:
    """Likely ones first. Indices too large are refused by ONNX Runtime, so smaller ones follow."""
    takes_whole_numbers = any("int" in one.kind for one in inputs)
    for side, length in SIZES:
        for below in (100, 8, 2, 1) if takes_whole_numbers else (100,):
            yield Recipe(side, length, below, sizes)


def unsupported(session: Session) -> list[str]:
    """Inputs whose type no array has."""
    return [f"{i.name!r} {i.kind}" for i in session.inputs if i.kind not in NUMPY_TYPES]


def make_items(
    inputs: Sequence[Wanted], recipe: Recipe, count: int, rng: np.random.Generator
) -> list[dict[str, Array]]:
    """Single items, each array with a first axis of 1; no two alike, of different contrast."""
    return [{one.name: _value(one, recipe, rng) for one in inputs} for _ in range(count)]


def _value(one: Wanted, recipe: Recipe, rng: np.random.Generator) -> Array:
    shape = _shape(one, recipe)
    dtype: np.dtype[Any] = np.dtype(NUMPY_TYPES[one.kind])
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "O":
        return rng.choice(np.array(WORDS, object), shape)
    is_image = len(shape) == 4
    if dtype == np.uint8 and is_image:
        return np.clip(_image(shape, rng) * 64 + 128, 0, 255).astype(np.uint8)
    if dtype.kind in "iu":
        return rng.integers(0, min(recipe.below, np.iinfo(dtype).max), shape).astype(dtype)
    values = _image(shape, rng) if is_image else rng.normal(0, rng.uniform(0.5, 2), shape)
    return (np.abs(values) if recipe.positive else values).astype(dtype)


def _shape(one: Wanted, recipe: Recipe) -> tuple[int, ...]:
    """Numbers as they are, one along the first axis, the rest by the recipe; names bind nothing."""
    given = recipe.sizes.get(one.name, ())
    shape: list[int] = []
    for axis, dim in enumerate(one.shape):
        configured = given[axis] if axis < len(given) else -1
        free = _free(one.shape, axis, recipe) if axis else 1
        shape.append(dim if isinstance(dim, int) else configured if configured > 0 else free)
    return tuple(shape)


def _free(shape: tuple[int | str | None, ...], axis: int, recipe: Recipe) -> int:
    """A size for a free axis; that of colours is the second, unless the last one is."""
    if len(shape) != 4:
        return recipe.length
    return 3 if axis == 1 and shape[3] not in COLOURS else recipe.side


def _image(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Smooth patches, some noise; brightness and contrast of their own, about -2 to 2."""
    repeats = [-(-side // GRID) for side in shape]
    patches = rng.normal(size=[min(GRID, side) for side in shape])
    for axis, repeat in enumerate(repeats):
        patches = np.repeat(patches, repeat, axis)
    patches = patches[tuple(slice(side) for side in shape)]
    noise = rng.normal(0, 0.1, shape)
    return rng.uniform(-0.8, 0.8) + rng.uniform(0.15, 0.8) * (patches + noise)

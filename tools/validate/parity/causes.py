"""The causes that are tried, the most specific first: each turns one switch of the recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ensemble.transform import FILTERS
from tools.validate.findings import Rule
from tools.validate.parity.recipe import Geometry, Recipe, Values
from tools.validate.rules import preprocessing as rules

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Cause:
    """One way in which training may differ from serving.

    Attributes:
        rule: its name.
        words: what the reference does, and what the server does.
        change: the server's recipe to one that does it as the reference.
    """

    rule: Rule
    words: str
    change: Callable[[Recipe], Recipe]


KNOWN = {
    "torchvision's ImageNet values": ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "-1..1": ((127.5,) * 3, (127.5,) * 3),
    "EfficientNet-Lite's values": ((127.0,) * 3, (128.0,) * 3),
    "CLIP's values": ((122.771, 116.746, 104.094), (68.501, 66.632, 70.323)),
    "Caffe's BGR means": ((103.939, 116.779, 123.68), (1.0,) * 3),
}
"""Mean and std that published classifiers were trained with, levels."""
_PLAIN_MEAN = (0.0,) * 3
_SAME = 0.01  # of std
_FEW_LEVELS = 5.0
_PLAIN = {"0..255 as they are": ((0.0,) * 3, (1.0,) * 3), "0..1": ((0.0,) * 3, (255.0,) * 3)}


def causes(recipe: Recipe) -> list[Cause]:
    """All that can be told from ``recipe``, the most specific first."""
    every = (*_of_values(recipe.values), *_of_pictures(), *_of_geometry(recipe.geometry))
    return [cause for cause in every if cause.change(recipe) != recipe]


def fitted(recipe: Recipe, encoded: bytes, reference: Array) -> Cause | None:
    """Mean and std that bring the reference back to the picture's levels best, by least squares.

    None where they are the recipe's own, or where the picture has too few levels to tell.

    Args:
        recipe: what else is done.
        encoded: the picture.
        reference: what training feeds for it, of the shape that the recipe feeds.
    """
    plain = replace(recipe.values, mean=_PLAIN_MEAN, std=(1.0,) * 3, layout="HWC")
    levels = plain.fed(recipe.geometry.levels(encoded))
    wanted = reference.transpose(1, 2, 0) if recipe.values.layout == "CHW" else reference
    found = [_line(levels[..., n], wanted[..., n]) for n in range(3)]
    if any(std <= 0 for _, std in found):
        return None
    mean, std = (tuple(round(value, 2) for value in column) for column in zip(*found, strict=True))
    apart = np.abs(np.subtract(mean, recipe.values.mean)) / std
    if apart.max() < _SAME and np.allclose(std, recipe.values.std, rtol=_SAME):
        return None
    words = f"the reference has mean {list(mean)} and std {list(std)}, the server "
    words += f"{list(recipe.values.mean)} and {list(recipe.values.std)}"
    return Cause(rules.MEAN_STD_VALUES, words, _values(mean=mean, std=std))


def _line(levels: Array, wanted: Array) -> tuple[float, float]:
    """Mean and std of ``wanted = (levels - mean) / std``; std 0 where there is no such line."""
    spread = float(levels.std())
    with np.errstate(invalid="ignore", over="ignore"):
        slope = float(np.mean((levels - levels.mean()) * (wanted - wanted.mean())))
    if spread < _FEW_LEVELS or not 0 < slope < np.inf:
        return 0.0, 0.0
    std = spread**2 / slope
    return float(levels.mean()) - std * float(wanted.mean()), std


def _of_values(values: Values) -> Iterator[Cause]:
    other = "BGR" if values.colour == "RGB" else "RGB"
    words = f"the reference feeds {other}, the server {values.colour}"
    yield Cause(rules.COLOUR_ORDER, words, _values(colour=other))
    turned = {"mean": values.mean[::-1], "std": values.std[::-1]}
    words_ = "the reference has mean and std in the opposite order"
    yield Cause(rules.MEAN_STD_ORDER, words_, _values(**turned))
    yield Cause(rules.COLOUR_ORDER, words, _values(colour=other, **turned))
    words = "the reference holds the memory of the other layout, reshaped and not transposed"
    yield Cause(rules.RESHAPED, words, _values(reshaped=True))
    yield from _of_scale()
    yield from _of_mean_std(values)


def _of_scale() -> Iterator[Cause]:
    for words, change in (
        ("the server does not divide by 255 before mean and std", {"before": 1 / 255}),
        ("the server divides by 255 once more than the reference", {"before": 255.0}),
        ("the reference is 1/255 of what the server feeds", {"after": 1 / 255}),
        ("the reference is 255 times what the server feeds", {"after": 255.0}),
    ):
        yield Cause(rules.SCALE, words, _values(**change))


def _of_mean_std(values: Values) -> Iterator[Cause]:
    for name, (mean, std) in _PLAIN.items():
        words = f"the reference feeds {name}, without the server's mean and std"
        yield Cause(rules.NOT_NORMALISED, words, _values(mean=mean, std=std))
    plain = not any(values.mean)
    rule = rules.NOT_NORMALISED if plain else rules.MEAN_STD_VALUES
    for name, (mean, std) in KNOWN.items():
        words = f"the reference has {name}, mean {list(mean)} and std {list(std)}"
        yield Cause(rule, words, _values(mean=mean, std=std))


def _of_pictures() -> Iterator[Cause]:
    for exif, does, other in ((True, "applies", "does not"), (False, "does not apply", "does")):
        words = f"the reference {does} the EXIF orientation, the server {other}"
        yield Cause(rules.EXIF, words, _geometry(exif=exif))
    words = "the reference clips 16-bit levels at 255, the server scales them"
    yield Cause(rules.SIXTEEN_BITS, words, _geometry(clip_16_bits=True))


def _of_geometry(geometry: Geometry) -> Iterator[Cause]:
    how = geometry.how
    one, other = ("server", "reference") if how.antialias else ("reference", "server")
    words = f"the {one} antialiases when it shrinks a picture, the {other} does not"
    yield Cause(rules.ANTIALIAS, words, _how(antialias=not how.antialias))
    for kernel in (*FILTERS, "OpenCV's cubic", "OpenCV's Lanczos"):
        words = f"the reference resamples with {kernel}, the server with {how.kernel}"
        yield Cause(rules.FILTER, words, _how(kernel=kernel))
    words = f"the reference averages areas, as INTER_AREA does, the server has {how.kernel}"
    yield Cause(rules.FILTER, words, _how(kernel="area", antialias=True))
    yield from _of_rounding(geometry)
    yield from _of_fit(geometry)
    yield from _of_crop(geometry)


def _of_rounding(geometry: Geometry) -> Iterator[Cause]:
    for longer in ("down", "half up", "nearest"):
        words = f"the reference rounds the longer side {longer}, the server {geometry.longer}"
        yield Cause(rules.SIZE_ROUNDING, words, _geometry(longer=longer))
    for offset in ("half even", "down", "half up"):
        words = f"the reference rounds the crop's offset {offset}, the server {geometry.offset}"
        yield Cause(rules.CROP_OFFSET, words, _geometry(offset=offset))
    for rows in (-1, 0, 1):
        for columns in (-1, 0, 1):
            if rows or columns:
                words = f"the reference's crop lies {rows:+} rows and {columns:+} columns away"
                yield Cause(rules.CROP_OFFSET, words, _geometry(shift=(rows, columns)))


def _of_fit(geometry: Geometry) -> Iterator[Cause]:
    if geometry.fit == "stretch":
        words = "the reference keeps the picture's aspect, the server stretches it"
        yield Cause(rules.STRETCHED, words, _geometry(fit="shorter"))
    smallest = min(geometry.height, geometry.width)
    for shorter in dict.fromkeys((geometry.shorter, smallest)):
        words = f"the reference stretches the picture, its shorter side to {shorter} pixels"
        yield Cause(rules.STRETCHED, words, _geometry(fit="stretch", shorter=shorter))
    words = "the reference cuts out the centre first, then resizes it"
    yield Cause(rules.CROP_FIRST, words, _geometry(fit="crop first"))
    crop = max(geometry.height, geometry.width)
    for shorter in sorted({crop, crop + 32, round(crop / 0.875), 232, 236, 248, 256, 342}):
        if shorter >= crop:
            words = f"the reference's shorter side is {shorter} pixels, not {geometry.shorter}"
            yield Cause(rules.RESIZE_SIZE, words, _geometry(shorter=shorter))


def _of_crop(geometry: Geometry) -> Iterator[Cause]:
    for offset, words in (("start", "top left corner"), ("end", "bottom right corner")):
        words = f"the reference crops the {words}, the server the centre"
        yield Cause(rules.CROP_PLACE, words, _geometry(offset=offset))


def _values(**changes: Any) -> Callable[[Recipe], Recipe]:
    return lambda recipe: replace(recipe, values=replace(recipe.values, **changes))


def _geometry(**changes: Any) -> Callable[[Recipe], Recipe]:
    return lambda recipe: replace(recipe, geometry=replace(recipe.geometry, **changes))


def _how(**changes: Any) -> Callable[[Recipe], Recipe]:
    return lambda recipe: _geometry(how=replace(recipe.geometry.how, **changes))(recipe)

"""The served preprocessing once more, with a switch for each way in which training may differ.

``Recipe.of(transform)`` gives the server's own pixels, within a fraction of a level. With one
switch turned it gives what the server would feed if it did that one thing as the reference may do
it: so a cause is found by trying.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from ensemble.transform import Transform
from tools.validate.parity.resample import Resampling, Span, resample

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Geometry:
    """From encoded bytes to the cropped picture.

    Attributes:
        shorter: length of the shorter side after the resize, pixels.
        height: of the crop, pixels.
        width: of the crop, pixels.
        how: the kernel.
        exif: turn the picture upright first.
        fit: ``shorter`` keeps the picture's aspect, ``stretch`` gives it the crop's; ``crop first``
            takes the largest part of the crop's aspect, then resizes.
        longer: the longer side's length is rounded ``half up``, with the exact scale about the
            centre (DALI); or the whole picture fits a side rounded ``nearest``, halves to even, or
            ``down`` (torchvision).
        offset: of the crop: half of the difference ``half up``, ``half even`` or ``down``; or
            ``start`` or ``end`` instead of the centre.
        shift: of the crop, rows and columns, pixels.
        clip_16_bits: levels above 255 become 255, instead of 65535 becoming 255.
    """

    shorter: int
    height: int
    width: int
    how: Resampling
    exif: bool = True
    fit: str = "shorter"
    longer: str = "half up"
    offset: str = "half up"
    shift: tuple[int, int] = (0, 0)
    clip_16_bits: bool = False

    def levels(self, encoded: bytes) -> Array:
        """The crop, RGB, (height, width, 3) float32, whole levels of 0..255."""
        return _levels(self, encoded)

    def spans(self, height: int, width: int) -> tuple[Span, Span]:
        """Where the crop's rows and columns lie in a picture of these sides."""
        part = self._part(height, width)
        return (
            self._span(height, part[0], min(part), self.height, self.shift[0]),
            self._span(width, part[1], min(part), self.width, self.shift[1]),
        )

    def _part(self, height: int, width: int) -> tuple[int, int]:
        """Sides of the part of the picture that is resized."""
        if self.fit != "crop first":
            return height, width
        return (
            min(height, max(1, width * self.height // self.width)),
            min(width, max(1, height * self.width // self.height)),
        )

    def _span(self, size: int, part: int, shorter: int, crop: int, shift: int) -> Span:
        exact = part * self.shorter / shorter
        if self.fit != "shorter":
            exact = crop * self.shorter / min(self.height, self.width)
        length = _LENGTHS[self.longer](exact)
        about_centre = self.fit == "shorter" and self.longer == "half up"
        step = part / (exact if about_centre else length)
        offset = _offset(length - crop, self.offset) + shift
        first = (size - part) // 2  # 0 unless cropped first
        return Span(first + part / 2 + (offset - length / 2) * step, step, crop)


@dataclass(frozen=True)
class Values:
    """From the cropped picture to what is fed.

    Attributes:
        colour: ``RGB`` or ``BGR``.
        mean: subtracted, levels, in the order of the channels fed.
        std: divided by, levels.
        before: factor of the levels before mean and std.
        after: factor of what mean and std gave.
        reshaped: HWC memory read as CHW, or the other way round, instead of transposed.
        layout: ``CHW`` or ``HWC``.
    """

    colour: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    layout: str
    before: float = 1.0
    after: float = 1.0
    reshaped: bool = False

    @property
    def in_levels(self) -> Array:
        """Factor from a difference of what is fed to one of levels; broadcasts over ``layout``."""
        factor = np.array(self.std, np.float32) / np.float32(self.before * self.after)
        return factor[:, None, None] if self.layout == "CHW" else factor

    def apart(self, fed: Array, other: Array) -> Array:
        """Absolute difference in levels, element by element; infinite where one is not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            levels: Array = np.abs(fed - other) * self.in_levels
        return np.nan_to_num(levels, copy=False, nan=np.inf, posinf=np.inf)

    def fed(self, levels: Array) -> Array:
        """The classifier's input, (3, height, width) or (height, width, 3) float32."""
        ordered = levels if self.colour == "RGB" else levels[..., ::-1]
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        normed = (ordered * np.float32(self.before) - mean) / std * np.float32(self.after)
        planes = normed.transpose(2, 0, 1)
        as_laid_out, other = (planes, normed) if self.layout == "CHW" else (normed, planes)
        if self.reshaped:
            return np.ascontiguousarray(other).reshape(as_laid_out.shape)
        return as_laid_out


@dataclass(frozen=True)
class Recipe:
    """Encoded bytes to the classifier's input."""

    geometry: Geometry
    values: Values

    def off(self, encoded: bytes, pixels: Array) -> float:
        """Mean distance of what this recipe feeds from ``pixels``, in levels of 0..255."""
        return float(
            self.values.apart(self.values.fed(self.geometry.levels(encoded)), pixels).mean()
        )

    @classmethod
    def of(cls, transform: Transform) -> Recipe:
        """What the server does."""
        as_torchvision = transform.rounding == "torchvision"
        return cls(
            Geometry(
                transform.resize_shorter,
                transform.crop_height,
                transform.crop_width,
                Resampling(transform.filter, transform.antialias),
                transform.apply_exif,
                fit="stretch" if transform.resize == "exact" else "shorter",
                longer="down" if as_torchvision else "half up",
                offset="half even" if as_torchvision else "half up",
            ),
            Values(transform.colour, transform.mean, transform.std, transform.layout),
        )


@lru_cache(maxsize=4)  # many recipes in turn are tried on one picture
def decode(encoded: bytes, exif: bool, clip_16_bits: bool = False) -> Array:
    """The picture in RGB, (height, width, 3) uint8, decoded by Pillow.

    Pillow's own conversion of 16-bit grey clips: all but the darkest 255 of 65536 levels become
    white. That is what a loader of torchvision feeds; the server scales.

    Source: ``convert("RGB")`` of a mode ``I;16`` picture, seen with Pillow 12.3.

    Raises:
        OSError: Pillow can't read it.
    """
    with Image.open(io.BytesIO(encoded)) as file:
        picture = ImageOps.exif_transpose(file) if exif else file
        if picture.mode.startswith("I") and not clip_16_bits:
            high = (np.asarray(picture).astype(np.int64) >> 8).astype(np.uint8)
            return np.repeat(high[..., None], 3, axis=2)
        return np.asarray(picture.convert("RGB"))


@lru_cache(maxsize=128)
def _levels(geometry: Geometry, encoded: bytes) -> Array:
    picture = decode(encoded, geometry.exif, geometry.clip_16_bits)
    rows, columns = geometry.spans(picture.shape[0], picture.shape[1])
    levels: Array = np.clip(np.rint(resample(picture, rows, columns, geometry.how)), 0, 255)
    return levels


_LENGTHS: dict[str, Callable[[float], int]] = {
    "half up": lambda exact: int(exact + 0.5),
    "nearest": round,  # halves to even, as Python's own rounding
    "down": int,
}


def _offset(difference: int, rule: str) -> int:
    """Of a crop, for a difference of sides."""
    offsets = {
        "half up": (difference + 1) // 2,
        "half even": round(difference / 2),
        "down": difference // 2,
        "start": 0,
        "end": difference,
    }
    return offsets[rule]

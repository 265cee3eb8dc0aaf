"""The crop of a resized picture, without the rest of it: two products with banded matrices.

Each row of the crop is a weighted sum of the few rows of the picture that its kernel reaches, and
each column likewise. Neighbouring rows share most of what they reach, so some rows at a time are
one small product of float32 matrices, which BLAS does at vector speed and without rounding between
rows and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import cv2
import numpy as np

from ensemble.transform import Transform

Array = np.ndarray[Any, Any]

_WINDOW = 20
"""Rows of a picture that one product takes, about: fewer cost calls, more cost zeros."""


@dataclass(frozen=True)
class Side:
    """Height or width of an upright picture, which the decoder may have made smaller.

    Attributes:
        pixels: as encoded.
        step: how many of those one decoded pixel stands for.
        before: how many stand before the picture's first: the last decoded pixel is filled up when
            the side is no multiple of ``step``, and comes first in a picture that was turned.
    """

    pixels: int
    step: int = 1
    before: int = 0

    @property
    def decoded(self) -> int:
        """Pixels of the decoded picture."""
        return -(-self.pixels // self.step)


class Band(NamedTuple):
    """Neighbouring rows, or columns, of the crop.

    Attributes:
        first: of the decoded pixels that they reach.
        stop: one past the last.
        weights: (rows of the crop, stop - first) float32; a row's sum is 1.
    """

    first: int
    stop: int
    weights: Array


Bands = tuple[Band, ...]


def bands(transform: Transform, height: Side, width: Side) -> tuple[Bands, Bands]:
    """What the rows and the columns of the crop are made of.

    Args:
        transform: how large the resized picture is, and where the crop lies.
        height: of the picture.
        width: of the picture.
    """
    before = height.pixels, width.pixels
    after = transform.resized(*before)
    parts = zip(
        (height, width),
        after,
        transform.scales(*before),
        transform.crop_offset(*after),
        (transform.crop_height, transform.crop_width),
        strict=True,
    )
    rows, columns = (_bands(*part, transform.filter, transform.antialias) for part in parts)
    return rows, columns


def resample(picture: Array, rows: Bands, columns: Bands) -> Array:
    """Whole levels of the crop, columns first: (columns, rows, 3) uint8.

    Args:
        picture: (height, width, 3) uint8.
        rows: what the rows of the crop are made of.
        columns: and the columns.
    """
    left, right = columns[0].first, columns[-1].stop
    parts = (picture[band.first : band.stop, left:right] for band in rows)
    lines = (part.astype(np.float32).reshape(len(part), -1) for part in parts)
    low = _products(rows, lines, 3 * (right - left))
    turned = cv2.transpose(low.reshape(len(low), right - left, 3)).reshape(right - left, -1)
    lines = (turned[band.first - left : band.stop - left] for band in columns)
    levels = _products(columns, lines, 3 * len(low))
    cv2.threshold(levels, 0, 0, cv2.THRESH_TOZERO, levels)  # or -1 would become 1 below
    return np.asarray(cv2.convertScaleAbs(levels)).reshape(len(levels), len(low), 3)


def _products(bands: Bands, lines: Iterable[Array], length: int) -> Array:
    """Each band's weights times the lines that it reaches, (all rows of the bands, length)."""
    done = np.empty((sum(len(band.weights) for band in bands), length), np.float32)
    start = 0
    for band, reached in zip(bands, lines, strict=True):
        stop = start + len(band.weights)
        np.matmul(band.weights, reached, out=done[start:stop])
        start = stop
    return done


@lru_cache(maxsize=128)
def _bands(
    side: Side, resized: int, scale: float, offset: int, crop: int, name: str, antialias: bool
) -> Bands:
    """Of one side, where a new pixel's centre is found from the two pictures' common centre."""
    centres = (offset + np.arange(crop) + 0.5 - resized / 2) / scale + side.pixels / 2
    centres = (centres + side.before) / side.step - 0.5
    step = 1 / (scale * side.step)
    taps, weights = _taps(centres, name, max(1.0, step) if antialias else 1.0)
    taps = np.clip(taps, 0, side.decoded - 1)
    count = max(1, min(crop, round(_WINDOW / step)))  # rows a band
    rows = np.arange(crop)
    first = taps[rows // count * count, 0]
    width = int((taps[:, -1] - first).max()) + 1
    places = (rows * width - first)[:, None] + taps
    # Beyond the picture its edge goes on: several taps of a row may be the same pixel.
    dense = np.bincount(places.ravel(), weights.ravel(), crop * width)
    dense = dense.reshape(crop, width).astype(np.float32)
    stop = taps[np.minimum(rows[::count] + count, crop) - 1, -1] + 1
    edges = zip(rows[::count].tolist(), first[::count].tolist(), stop.tolist(), strict=True)
    return tuple(Band(lo, hi, dense[n : n + count, : hi - lo]) for n, lo, hi in edges)


def _taps(centres: Array, name: str, widening: float) -> tuple[Array, Array]:
    """Decoded pixels that each new one takes from, and how much of each; (centres, taps) both."""
    if name == "nearest":
        return np.floor(centres + 0.5).astype(int)[:, None], np.ones((len(centres), 1))
    kernel, radius = _KERNELS[name]
    reach = radius * widening
    taps = np.ceil(centres - reach)[:, None] + np.arange(int(2 * reach) + 1)
    weights = kernel(np.abs(taps - centres[:, None]) / widening)
    return taps.astype(int), weights / weights.sum(axis=1, keepdims=True)


def _triangular(x: Array) -> Array:
    return np.maximum(0.0, 1.0 - x)


def _cubic(x: Array) -> Array:
    """Keys' cubic with a = -0.5, as Pillow and DALI have it."""
    inner = (1.5 * x - 2.5) * x * x + 1.0
    outer = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return np.where(x <= 1, inner, np.where(x < 2, outer, 0.0))


def _lanczos3(x: Array) -> Array:
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


_KERNELS: dict[str, tuple[Callable[[Array], Array], int]] = {
    "triangular": (_triangular, 1),
    "cubic": (_cubic, 2),
    "lanczos3": (_lanczos3, 3),
}
"""Each with its radius in pixels, before any widening."""

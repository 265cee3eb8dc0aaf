"""One encoded image to a picture, upright, by OpenCV.

A large JPEG is decoded smaller than it is, since what the resize would throw away need not be
decoded first.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from PIL import Image, ImageOps

from ensemble.transform import Transform
from preprocess.guard import trial_endings
from preprocess.headers import Header, undecodable, webp_has_exif
from preprocess.resample import Side

Array = np.ndarray[Any, Any]

KEPT = 2
"""A JPEG is decoded to at least this many times the pixels a side that the resize makes of it.

The decoder's own shrinking is another filter than the declared one; the more is left for that, the
less the other shows: docs/performance.md has the figures.
"""
_REDUCED = {
    2: cv2.IMREAD_REDUCED_COLOR_2,
    4: cv2.IMREAD_REDUCED_COLOR_4,
    8: cv2.IMREAD_REDUCED_COLOR_8,
}
_AS_STORED = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
_ORIENTATION = 0x0112
_TURNED = {  # EXIF orientation: rows and columns swapped, then upside down, then mirrored
    1: (False, False, False),
    2: (False, False, True),
    3: (False, True, True),
    4: (False, True, False),
    5: (True, False, False),
    6: (True, False, True),
    7: (True, True, True),
    8: (True, True, False),
}


@dataclass(frozen=True)
class Picture:
    """A decoded picture, upright.

    Attributes:
        levels: (height, width, 3) uint8, RGB.
        height: of the picture as encoded.
        width: of the picture as encoded.
    """

    levels: Array
    height: Side
    width: Side


def decode(data: Array, header: Header, transform: Transform) -> Picture:
    """A picture, as large as the transform needs it.

    Raises:
        InvalidInput: the data are not what the header says.
    """
    if not header.complete:
        return _whole(_open_ended(data, header, transform))
    if header.format == "WEBP" and transform.apply_exif and webp_has_exif(data):
        return _whole(_by_pillow(data, header))
    step = step_of(header, transform)
    orientation = _orientation(data) if step > 1 and transform.apply_exif else 1
    if step > 1 and orientation in _TURNED:
        return _reduced(data, header, step, orientation)
    return _whole(_by_opencv(data, header, _flags(transform)))


def _whole(levels: Array) -> Picture:
    return Picture(levels, Side(levels.shape[0]), Side(levels.shape[1]))


def _flags(transform: Transform) -> int:
    ignored = 0 if transform.apply_exif else cv2.IMREAD_IGNORE_ORIENTATION
    return int(cv2.IMREAD_COLOR_RGB | ignored)


def _by_opencv(data: Array, header: Header, flags: int) -> Array:
    with _silent() if header.format == "PNG" else nullcontext():
        levels = cv2.imdecode(data, flags)
    if levels is None:
        raise undecodable(header)
    return np.asarray(levels)


@contextmanager
def _silent() -> Iterator[None]:
    """What is said on stderr goes nowhere: libpng has a line for harmless metadata."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def _by_pillow(data: Array, header: Header) -> Array:
    """For what OpenCV 4.11 does not turn upright."""
    try:
        with Image.open(io.BytesIO(data.tobytes()), formats=(header.format,)) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise undecodable(header) from error


def _open_ended(data: Array, header: Header, transform: Transform) -> Array:
    """A JPEG without its end marker, if none of its pixels comes from beyond its end."""
    flags = _flags(transform)
    one, other = (_by_opencv(ending, header, flags) for ending in trial_endings(data, header))
    if not np.array_equal(one, other):
        raise undecodable(header)
    return one


def step_of(header: Header, transform: Transform) -> int:
    """How many pixels a side the decoder may make into one."""
    averages = transform.antialias and transform.filter != "nearest"
    if header.format != "JPEG" or not header.complete or not averages:
        return 1
    sides = header.height, header.width
    largest = max(*transform.scales(*sides), *transform.scales(*sides[::-1]))
    return next((step for step in (8, 4, 2) if step * KEPT * largest <= 1), 1)


def _reduced(data: Array, header: Header, step: int, orientation: int) -> Picture:
    levels = _by_opencv(data, header, _REDUCED[step] | _AS_STORED)
    height, width = header.height, header.width
    swapped, upside_down, mirrored = _TURNED[orientation]
    if swapped:
        levels, height, width = levels.transpose(1, 0, 2), width, height
    levels = levels[:: -1 if upside_down else 1, :: -1 if mirrored else 1]
    return Picture(levels, _side(height, step, upside_down), _side(width, step, mirrored))


def _side(pixels: int, step: int, turned: bool) -> Side:
    return Side(pixels, step, -pixels % step if turned else 0)


def _orientation(data: Array) -> int:
    """By the EXIF segment of a JPEG; 0 where that can't be read."""
    try:
        with Image.open(io.BytesIO(data.tobytes()), formats=("JPEG",)) as image:
            exif = Image.Exif()
            exif.load(image.info.get("exif", b""))
            return int(exif.get(_ORIENTATION, 1))
    except Exception:
        return 0

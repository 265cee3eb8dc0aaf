"""One encoded image to a picture, upright, by OpenCV.

A large JPEG is decoded smaller than it is, since what the resize would throw away need not be
decoded first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from ensemble.transform import Transform
from preprocess.exif import UPRIGHT, orientation_of
from preprocess.guard import trial_endings
from preprocess.headers import Header, undecodable, without_metadata
from preprocess.resample import Side

Array = np.ndarray[Any, Any]

KEPT = 2
"""A JPEG is decoded to at least this many times the pixels a side that the resize makes of it.

The decoder's own shrinking is another filter than the declared one; the more is left for that, the
less the other shows: docs/performance.md has the figures.
"""
_COLOUR = {
    1: cv2.IMREAD_COLOR,
    2: cv2.IMREAD_REDUCED_COLOR_2,
    4: cv2.IMREAD_REDUCED_COLOR_4,
    8: cv2.IMREAD_REDUCED_COLOR_8,
}
_AS_STORED = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
_TURNED = {  # EXIF orientation: rows and columns swapped, then upside down, then mirrored
    UPRIGHT: (False, False, False),
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
    orientation = orientation_of(data, header) if transform.apply_exif else UPRIGHT
    if not header.complete:
        return _upright(_open_ended(data, header), header, 1, orientation)
    step = step_of(header, transform)
    return _upright(_by_opencv(data, header, step), header, step, orientation)


def _by_opencv(data: Array, header: Header, step: int = 1) -> Array:
    if header.format == "PNG":
        data = np.frombuffer(without_metadata(data.data), np.uint8)
    levels = cv2.imdecode(data, _COLOUR[step] | _AS_STORED)
    if levels is None:
        raise undecodable(header)
    return np.asarray(levels)


def _open_ended(data: Array, header: Header) -> Array:
    """A JPEG without its end marker, if none of its pixels comes from beyond its end."""
    one, other = (_by_opencv(ending, header) for ending in trial_endings(data, header))
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


def _upright(levels: Array, header: Header, step: int, orientation: int) -> Picture:
    height, width = header.height, header.width
    swapped, upside_down, mirrored = _TURNED[orientation]
    if swapped:
        levels, height, width = levels.transpose(1, 0, 2), width, height
    levels = levels[:: -1 if upside_down else 1, :: -1 if mirrored else 1]
    return Picture(levels, _side(height, step, upside_down), _side(width, step, mirrored))


def _side(pixels: int, step: int, turned: bool) -> Side:
    return Side(pixels, step, -pixels % step if turned else 0)

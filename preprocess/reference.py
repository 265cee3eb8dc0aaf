"""The declared transform once more, in OpenCV and NumPy: what the DALI graph is compared with.

Slow and plain on purpose. OpenCV decodes; the resize is written out, because OpenCV's own does not
antialias.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from ensemble.errors import InvalidInput
from ensemble.transform import Transform

Array = np.ndarray[Any, Any]
_DTYPES = {"FP32": np.float32, "FP16": np.float16}


def reference_pixels(encoded: bytes, transform: Transform) -> Array:
    """PIXELS of one image, (3, height, width) or (height, width, 3), float32 or float16.

    Raises:
        InvalidInput: OpenCV can't decode it.
    """
    flags = cv2.IMREAD_COLOR
    if not transform.apply_exif:
        flags |= cv2.IMREAD_IGNORE_ORIENTATION
    picture = cv2.imdecode(np.frombuffer(encoded, np.uint8), flags)
    if picture is None:
        raise InvalidInput("expected an image that OpenCV decodes")
    if transform.colour == "RGB":
        picture = picture[:, :, ::-1]
    cropped = _centre_crop(_resize(picture, transform), transform)
    mean, std = (np.array(levels, np.float32) for levels in (transform.mean, transform.std))
    normalised = (cropped - mean) / std
    if transform.layout == "CHW":
        normalised = normalised.transpose(2, 0, 1)
    return np.ascontiguousarray(normalised, _DTYPES[transform.dtype])


def _resize(picture: Array, transform: Transform) -> Array:
    """The resize of the transform, rounded to whole levels as an 8-bit image would be."""
    height, width = picture.shape[:2]
    new_height, new_width = transform.resized(height, width)
    scales = transform.scales(height, width)
    rows = _weights(height, new_height, scales[0], transform)
    columns = _weights(width, new_width, scales[1], transform)
    levels: Array = np.einsum(
        "yh,hwc,xw->yxc", rows, picture.astype(np.float32), columns, optimize=True
    )
    rounded: Array = np.clip(np.rint(levels), 0, 255)
    return rounded.astype(np.float32)


def _weights(size: int, new_size: int, scale: float, transform: Transform) -> Array:
    """What each old pixel adds to each new one, (new_size, size) float32; rows sum to 1.

    New and old picture share their centre, and DALI's ``scale`` is exact although sizes are whole.
    """
    kernel, radius = _KERNELS[transform.filter]
    centres = (np.arange(new_size) + 0.5 - new_size / 2) / scale + size / 2 - 0.5
    if transform.filter == "nearest":
        nearest = np.clip(np.floor(centres + 0.5).astype(int), 0, size - 1)
        one_hot: Array = np.eye(size, dtype=np.float32)[nearest]
        return one_hot
    stretch = max(1.0, 1.0 / scale) if transform.antialias else 1.0
    first = np.floor(centres - radius * stretch).astype(int)
    offsets = np.arange(int(2 * radius * stretch) + 3)
    taps = first[:, None] + offsets
    weights = kernel((taps - centres[:, None]) / stretch)
    matrix: Array = np.zeros((new_size, size), np.float64)
    row = np.broadcast_to(np.arange(new_size)[:, None], taps.shape)
    np.add.at(matrix, (row, np.clip(taps, 0, size - 1)), weights)
    weighted: Array = matrix / matrix.sum(axis=1, keepdims=True)
    return weighted.astype(np.float32)


def _triangular(x: Array) -> Array:
    return np.maximum(0.0, 1.0 - np.abs(x))


def _cubic(x: Array) -> Array:
    """Keys' cubic with a = -0.5, as Pillow and DALI have it."""
    x = np.abs(x)
    inner = (1.5 * x - 2.5) * x * x + 1.0
    outer = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return np.where(x <= 1, inner, np.where(x < 2, outer, 0.0))


def _lanczos3(x: Array) -> Array:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


_KERNELS: dict[str, tuple[Callable[[Array], Array], int]] = {
    "triangular": (_triangular, 1),
    "cubic": (_cubic, 2),
    "lanczos3": (_lanczos3, 3),
    "nearest": (_triangular, 1),
}


def _centre_crop(picture: Array, transform: Transform) -> Array:
    top, left = transform.crop_offset(*picture.shape[:2])
    return picture[top : top + transform.crop_height, left : left + transform.crop_width]

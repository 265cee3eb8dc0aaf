"""Levels to what a classifier was trained on: the last step of the transform."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemble.transform import Transform

Array = np.ndarray[Any, Any]


def normalise(levels: Array, transform: Transform, out: Array) -> None:
    """Write ``(levels - mean) / std``, computed in float32, to ``out``.

    Args:
        levels: (images, *pixels_shape) uint8.
        transform: has mean, std and layout.
        out: of the same shape, float32 or float16.
    """
    shape = (3, 1, 1) if transform.layout == "CHW" else (3,)
    mean, std = (np.array(of, np.float32).reshape(shape) for of in (transform.mean, transform.std))
    for image, row in zip(levels, out, strict=True):  # one at a time stays in the cache
        pixels = row if row.dtype == np.float32 else np.empty(row.shape, np.float32)
        np.copyto(pixels, image)
        pixels -= mean
        pixels /= std
        if pixels is not row:
            row[:] = pixels

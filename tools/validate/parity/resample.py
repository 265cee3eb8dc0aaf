"""Resampling written out: each new pixel is a weighted sum of old ones, along rows, then columns.

What TensorFlow's and DALI's resizes do, with every choice that frameworks make differently in the
open: where a new pixel's centre lies, the kernel, whether it widens when shrinking, and the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Kernel = Callable[[Array, float], Array]
"""Distances from a new pixel's centre, in old pixels, and the widening; weights, not normed."""


@dataclass(frozen=True)
class Span:
    """Where the new pixels of one axis lie in the old picture, in old pixels.

    New pixel ``i`` has its centre at ``start + (i + 0.5) * step``; old pixel ``j`` at ``j + 0.5``.
    """

    start: float
    step: float
    count: int


@dataclass(frozen=True)
class Resampling:
    """The kernel and how it is used.

    Attributes:
        kernel: a name in ``KERNELS``.
        antialias: widen the kernel by the shrinking factor.
        repeat_edges: beyond the picture its edge goes on (DALI, OpenCV); otherwise the kernel is
            cut off there and normed again (Pillow, TensorFlow).
    """

    kernel: str = "triangular"
    antialias: bool = True
    repeat_edges: bool = True


def resample(picture: Array, rows: Span, columns: Span, how: Resampling) -> Array:
    """The new picture, (rows.count, columns.count, 3) float32, not rounded.

    Args:
        picture: (height, width, 3).
        rows: vertical axis.
        columns: horizontal axis.
        how: the kernel.
    """
    height, width = picture.shape[:2]
    shrunk = weights(height, rows, how) @ picture.reshape(height, -1).astype(np.float32)
    shrunk = shrunk.reshape(rows.count, width, 3).transpose(1, 0, 2).reshape(width, -1)
    done = weights(width, columns, how) @ shrunk
    return np.ascontiguousarray(done.reshape(columns.count, rows.count, 3).transpose(1, 0, 2))


def weights(size: int, span: Span, how: Resampling) -> Array:
    """What each old pixel adds to each new one, (span.count, size) float32; rows sum to 1."""
    kernel, radius = KERNELS[how.kernel]
    widening = max(1.0, span.step) if how.antialias else 1.0
    if how.kernel == "area":
        widening = span.step
    centres = span.start + (np.arange(span.count) + 0.5) * span.step - 0.5
    reach = int(np.ceil(radius * max(1.0, widening))) + 1
    taps = np.floor(centres).astype(int)[:, None] + np.arange(-reach, reach + 1)
    added = kernel(np.abs(taps - centres[:, None]), widening)
    if not how.repeat_edges:
        added = np.where((taps >= 0) & (taps < size), added, 0.0)
    matrix: Array = np.zeros((span.count, size))
    np.add.at(matrix, (np.arange(span.count)[:, None], np.clip(taps, 0, size - 1)), added)
    normed: Array = matrix / matrix.sum(axis=1, keepdims=True)
    return normed.astype(np.float32)


def _triangular(distance: Array, widening: float) -> Array:
    return np.maximum(0.0, 1.0 - distance / widening)


def _cubic(distance: Array, widening: float, a: float = -0.5) -> Array:
    """Keys' cubic: a = -0.5 in Pillow, DALI and TensorFlow, -0.75 in OpenCV."""
    x = distance / widening
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, inner, np.where(x < 2, outer, 0.0))


def _lanczos(distance: Array, widening: float, lobes: int) -> Array:
    x = distance / widening
    return np.where(x < lobes, np.sinc(x) * np.sinc(x / lobes), 0.0)


def _area(distance: Array, widening: float) -> Array:
    """How much of the new pixel's square the old pixel covers, as ``cv2.INTER_AREA`` has it."""
    return np.clip((widening + 1) / 2 - distance, 0.0, min(1.0, widening))


def _nearest(distance: Array, widening: float) -> Array:
    """The nearest old pixel; of two, the right or lower one."""
    taps = distance.shape[1]
    chosen: Array = np.eye(taps)[taps - 1 - distance[:, ::-1].argmin(axis=1)]
    return chosen


KERNELS: dict[str, tuple[Kernel, float]] = {
    "triangular": (_triangular, 1.0),
    "cubic": (_cubic, 2.0),
    "lanczos3": (partial(_lanczos, lobes=3), 3.0),
    "OpenCV's cubic": (partial(_cubic, a=-0.75), 2.0),
    "OpenCV's Lanczos": (partial(_lanczos, lobes=4), 4.0),
    "area": (_area, 1.0),
    "nearest": (_nearest, 0.5),
}
"""Each kernel with its radius in old pixels, before any widening."""

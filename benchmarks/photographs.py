"""The images that every benchmark sends: JPEGs made from the samples."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator

import numpy as np
from PIL import Image

from tools.export import ROOT

LONGER_SIDES_PX = (300, 360, 420, 480, 540, 640)
QUALITY = 92
NOISE_LEVELS = 5.0
"""Standard deviation of what is added to a large photograph. It is enlarged and so has no detail
of its own; with this much it takes 0.3 bytes a pixel, as cameras' and phones' JPEGs do."""


@functools.cache
def photographs() -> tuple[bytes, ...]:
    """18 JPEGs of 300 to 640 pixels, 10 to 80 kB, all of different length."""
    return tuple(
        _jpeg(picture.resize(_scaled(picture, side), Image.Resampling.LANCZOS))
        for picture in _samples()
        for side in LONGER_SIDES_PX
    )


@functools.cache
def large(width: int, height: int) -> tuple[bytes, ...]:
    """Six JPEGs of that size, two of each sample: enlarged, cut to shape, with a sensor's noise."""
    random = np.random.default_rng(0)
    return tuple(
        _jpeg(_noisy(_filling(picture, (width, height), zoom), random))
        for picture in _samples()
        for zoom in (1.0, 1.1)
    )


def _samples() -> Iterator[Image.Image]:
    for path in sorted((ROOT / "samples").iterdir()):
        if path.suffix in (".png", ".jpg"):
            with Image.open(path) as picture:
                yield picture.convert("RGB")


def _scaled(picture: Image.Image, longer_side: int) -> tuple[int, int]:
    scale = longer_side / max(picture.size)
    return round(picture.width * scale), round(picture.height * scale)


def _filling(picture: Image.Image, size: tuple[int, int], zoom: float) -> Image.Image:
    """The middle of the picture, enlarged until it fills ``size``."""
    scale = zoom * max(size[0] / picture.width, size[1] / picture.height)
    width, height = size[0] / scale, size[1] / scale
    left, top = (picture.width - width) / 2, (picture.height - height) / 2
    box = (left, top, left + width, top + height)
    return picture.resize(size, Image.Resampling.BICUBIC, box)


def _noisy(picture: Image.Image, random: np.random.Generator) -> Image.Image:
    """With noise of brightness, the same in all three channels."""
    levels = np.asarray(picture, np.float32)
    levels = levels + NOISE_LEVELS * random.standard_normal((*levels.shape[:2], 1), np.float32)
    return Image.fromarray(np.clip(np.rint(levels), 0, 255).astype(np.uint8))


def _jpeg(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()

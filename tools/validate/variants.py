"""Enough different images out of a few: crops, turns and sizes of those there are."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from PIL import Image, ImageOps

from ensemble.errors import CheckFailed

Item = TypeVar("Item")

_CUTS = (
    (0.0, 0.0, 1.0, 1.0),
    (0.0, 0.0, 0.7, 1.0),
    (0.3, 0.1, 1.0, 0.9),
    (0.1, 0.3, 0.9, 1.0),
    (0.2, 0.0, 0.8, 0.7),
)
"""Left, top, right, bottom, as shares of the picture."""
_HEADER_BYTES = 200
_SHORTER = (160, 256)  # pixels; large enough to be told apart, small enough to be quick


def variants(encoded: Sequence[bytes], count: int, rng: np.random.Generator) -> list[bytes]:
    """``count`` images, no two alike: the given ones scaled down, then parts of them, mirrored.

    Args:
        encoded: images that Pillow can read; others are left out.
        count: how many to make.
        rng: chooses sizes.

    Raises:
        CheckFailed: none of them can be read.
    """
    pictures = [picture for data in encoded[:count] if (picture := _opened(data)) is not None]
    if not pictures:
        raise CheckFailed(f"images: expected one that can be decoded, got {len(encoded)} others")
    made: list[bytes] = []
    for n in range(count):
        turn, which = divmod(n, len(pictures))
        flip, cut = divmod(turn, len(_CUTS))
        part = _part(pictures[which], _CUTS[cut], int(rng.integers(*_SHORTER)))
        for _ in range(flip):  # after all parts: mirrored, then turned about, and so on
            part = ImageOps.mirror(part).transpose(Image.Transpose.ROTATE_90)
        made.append(_file(part, "PNG" if n % 3 == 2 else "JPEG"))
    return made


def evenly(items: Sequence[Item], count: int) -> list[Item]:
    """At most ``count`` of the items, from all over the list."""
    return (
        [items[n * len(items) // count] for n in range(count)] if len(items) > count else [*items]
    )


def damaged(encoded: bytes) -> bytes:
    """The picture as a file that has a right header, and data that no decoder takes."""
    picture = _opened(encoded)
    if picture is None:
        raise CheckFailed("images: expected one that can be decoded, got another")
    stream = io.BytesIO()
    picture.save(stream, "WEBP", lossless=True)
    data = stream.getvalue()
    # A WebP, since its decoder is silent about it where libpng would write to stderr.
    return data[:_HEADER_BYTES] + b"\xff" * (len(data) - _HEADER_BYTES)


def _opened(data: bytes) -> Image.Image | None:
    try:
        with Image.open(io.BytesIO(data)) as file:
            file.draft("RGB", (2 * _SHORTER[1], 2 * _SHORTER[1]))
            return file.convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError):
        return None


def _part(
    picture: Image.Image, cut: tuple[float, float, float, float], shorter: int
) -> Image.Image:
    width, height = picture.size
    box = (cut[0] * width, cut[1] * height, cut[2] * width, cut[3] * height)
    sides = (box[2] - box[0], box[3] - box[1])
    scale = shorter / min(sides)
    size = (max(1, round(sides[0] * scale)), max(1, round(sides[1] * scale)))
    return picture.resize(size, Image.Resampling.BILINEAR, box=box)


def _file(picture: Image.Image, kind: str) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, kind)
    return stream.getvalue()

"""Varied small photographs: crops and sizes of the samples, as JPEG and PNG."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from PIL import Image

from tests.conftest import SAMPLES

# Left, top, right, bottom as shares of the picture; shorter side in pixels; format.
_CUTS = (
    ((0.0, 0.0, 1.0, 1.0), 300, "JPEG"),
    ((0.0, 0.0, 0.7, 1.0), 240, "JPEG"),
    ((0.3, 0.1, 1.0, 0.9), 180, "PNG"),
    ((0.1, 0.3, 0.9, 1.0), 260, "JPEG"),
    ((0.2, 0.0, 0.8, 0.7), 150, "PNG"),
)


@cache
def pictures() -> tuple[bytes, ...]:
    """15 encoded images, no two of one length, (bytes,) each."""
    encoded = []
    for name in ("chelsea.png", "coffee.png", "rocket.jpg"):
        with Image.open(SAMPLES / name) as sample:
            rgb = sample.convert("RGB")
        encoded += [_cut(rgb, *cut) for cut in _CUTS]
    assert len({len(image) for image in encoded}) == len(encoded)
    return tuple(encoded)


def _cut(
    picture: Image.Image, box: tuple[float, float, float, float], shorter: int, kind: str
) -> bytes:
    width, height = picture.size
    left, top, right, bottom = box
    part = picture.crop(
        (int(left * width), int(top * height), int(right * width), int(bottom * height))
    )
    scale = shorter / min(part.size)
    part = part.resize((round(part.width * scale), round(part.height * scale)))
    file = io.BytesIO()
    part.save(file, kind)
    return file.getvalue()


def stack(images: list[bytes] | tuple[bytes, ...]) -> np.ndarray:
    """One request's IMAGE, (images, bytes) uint8: the shorter ones end in zeros."""
    rows = np.zeros((len(images), max(map(len, images))), np.uint8)
    for row, image in zip(rows, images, strict=True):
        row[: len(image)] = np.frombuffer(image, np.uint8)
    return rows

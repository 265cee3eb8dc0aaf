"""The images that are sent unless others are named: JPEGs of usual sizes, made from the samples."""

from __future__ import annotations

import functools
import io

from PIL import Image

from tools.export import ROOT

LONGER_SIDES_PX = (300, 360, 420, 480, 540, 640)


@functools.cache
def photographs() -> tuple[bytes, ...]:
    """18 JPEGs of 300 to 640 pixels, 10 to 80 kB, all of different length."""
    encoded = []
    for path in sorted((ROOT / "samples").iterdir()):
        if path.suffix in (".png", ".jpg"):
            with Image.open(path) as picture:
                encoded += [_jpeg(picture.convert("RGB"), side) for side in LONGER_SIDES_PX]
    return tuple(encoded)


def _jpeg(picture: Image.Image, longer_side: int) -> bytes:
    scale = longer_side / max(picture.size)
    size = (round(picture.width * scale), round(picture.height * scale))
    buffer = io.BytesIO()
    picture.resize(size, Image.Resampling.LANCZOS).save(buffer, "JPEG", quality=92)
    return buffer.getvalue()

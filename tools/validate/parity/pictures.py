"""What both sides are shown: photographs, and generated pictures that bring out differences."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from PIL import Image

from ensemble.errors import InvalidInput
from ensemble.transform import Transform
from preprocess.guard import Limits, inspect
from preprocess.picture import step_of
from tools.client.sources import Source

Array = np.ndarray[Any, Any]

TOLERANCE_LEVELS = 1.0
"""Mean difference that passes. Right settings leave 0.1 to 0.3: both sides round to whole levels
after the resize, decoders differ by 1 here and there. Every wrong setting that costs accuracy gives
more on a photograph; the most harmless of them, one pixel of crop, gives 1 to 7."""
CMYK_TOLERANCE_LEVELS = 2.0
"""The same for CMYK, which every decoder converts in its own way; docs/images.md promises this."""
SHRUNK_TOLERANCE_LEVELS = 2.0
"""The same for a JPEG that the server decodes smaller than it is. Photographs leave 0.4 and less,
coloured text 1.2 to 1.7, noise of single pixels 2.3: docs/performance.md."""
_BAND = 64  # rows computed at once: 64-bit numbers of a whole picture may take gigabytes


@dataclass(frozen=True)
class Picture:
    """One encoded image.

    Attributes:
        name: the file's path, or what a generated one is about.
        encoded: the bytes that a client would send.
        generated: made here, rather than given by the user.
        shrunk: the server decodes it smaller than it is.
    """

    name: str
    encoded: bytes
    generated: bool = False
    shrunk: bool = False

    @cached_property
    def tolerance_levels(self) -> float:
        """Mean difference that passes, levels of 255."""
        if self.shrunk:
            return SHRUNK_TOLERANCE_LEVELS
        try:
            with Image.open(io.BytesIO(self.encoded)) as file:
                return CMYK_TOLERANCE_LEVELS if file.mode == "CMYK" else TOLERANCE_LEVELS
        except OSError:
            return TOLERANCE_LEVELS


def photographs(sources: Sequence[Source]) -> list[Picture]:
    """The images, read.

    Raises:
        OSError: one is missing or can't be read.
    """
    return [Picture(source.name, source.read()) for source in sources]


def as_decoded(pictures: Sequence[Picture], transform: Transform) -> Iterator[Picture]:
    """The same, told which of them a server without DALI decodes smaller than they are."""
    for picture in pictures:
        try:
            header = inspect(picture.encoded, Limits())
        except InvalidInput:
            yield picture
        else:
            yield replace(picture, shrunk=step_of(header, transform) > 1)


def generated(transform: Transform, rng: np.random.Generator) -> list[Picture]:
    """Sizes and kinds that preprocessing gets wrong, of the same content on equal generators."""
    # Shrunk to a whole longer side whose crop has a middle: no rounding that hides the kind.
    sides = transform.resize_shorter, transform.crop_width + 96
    plain = waves(3 * sides[0] // 2, 3 * sides[1] // 2, rng)
    made = [*_sizes(transform, rng), *_orientations(plain), *_kinds(plain)]
    return [Picture(name, encoded, generated=True) for name, encoded in made]


def _sizes(transform: Transform, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    crop, shorter = max(transform.crop_height, transform.crop_width), transform.resize_shorter
    sides = {
        "as large as the resize": (shorter, shorter),
        "one pixel more than the crop": (crop + 1, crop + 1),
        "one pixel more than the resize": (shorter + 1, shorter + 1),
        "odd sides": (333, 251),
        "sides that round": (300, 451),
        "16 times as wide as high": (40, 640),
        "16 times as high as wide": (640, 40),
        "tiny": (7, 5),
        "one pixel": (1, 1),
    }
    for name, (height, width) in sides.items():
        yield f"{name} ({width} x {height})", _file(waves(height, width, rng), "PNG")
    noise = rng.integers(0, 256, (700, 1050, 3), np.uint8)
    yield "noise to be shrunk (1050 x 700)", _file(noise, "BMP")


def _orientations(picture: Array) -> Iterator[tuple[str, bytes]]:
    for value in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = value
        yield f"EXIF orientation {value}", _file(picture, "JPEG", exif=exif, quality=95)


def _kinds(picture: Array) -> Iterator[tuple[str, bytes]]:
    for mode, kind in (("L", "JPEG"), ("CMYK", "JPEG"), ("L", "PNG"), ("P", "PNG")):
        yield f"{kind} of mode {mode}", _file(picture, kind, mode)
    opacity = np.linspace(0, 255, picture.shape[1]).astype(np.uint8)
    yield "PNG with alpha", _file(np.dstack([picture, np.tile(opacity, (len(picture), 1))]), "PNG")
    yield "WEBP", _file(picture, "WEBP")
    yield "16-bit grey PNG", _file(picture[..., 0].astype(np.uint16) * 257, "PNG")


def waves(height: int, width: int, rng: np.random.Generator) -> Array:
    """Coloured waves with some noise, no two corners alike, (height, width, 3) uint8."""
    long, short = rng.uniform(0.02, 0.05, (2, 3)), rng.uniform(0.2, 0.5, (2, 3))
    whole: Array = np.empty((height, width, 3), np.uint8)
    x = np.arange(width)[:, None]
    for top in range(0, height, _BAND):
        y = np.arange(top, min(top + _BAND, height))[:, None, None]
        signal = 50 * np.sin(long[0] * x + long[1] * y) + 40 * np.sin(short[0] * x - short[1] * y)
        tint = np.array([150.0, 120.0, 90.0]) + 30 * (x / width) - 30 * (y / height)
        levels = tint + signal + rng.normal(0, 6, signal.shape)
        whole[top : top + _BAND] = np.clip(np.rint(levels), 0, 255)
    return whole


def _file(levels: Array, kind: str, mode: str | None = None, **options: Any) -> bytes:
    picture, stream = Image.fromarray(levels), io.BytesIO()
    (picture.convert(mode) if mode else picture).save(stream, kind, **options)
    return stream.getvalue()

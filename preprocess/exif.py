"""How a picture has to be turned, by the EXIF data in its file.

Read here, since what decoders read of it depends on the decoder: OpenCV 4.11 takes a JPEG's first
APP1 segment for EXIF though it be XMP, and does not look into a WebP. Read no further than the one
tag: a file of a few megabytes can have 65,535 entries that all stand for the same megabytes.

Source: Exif 2.32 (CIPA DC-008), 4.6.2 and 4.6.4 (Orientation); TIFF 6.0, section 2.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from preprocess.headers import Header, exif_of_png, exif_of_webp, png_chunk, without_metadata
from preprocess.jpeg import exif_of_jpeg

UPRIGHT = 1
_ORIENTATION = 0x0112
_BYTE_ORDER = {b"II*\0": "<", b"MM\0*": ">"}
_PLACE: dict[str, Callable[[memoryview], memoryview]] = {
    "JPEG": exif_of_jpeg,
    "PNG": exif_of_png,
    "WEBP": exif_of_webp,
}


def orientation_of(data: np.ndarray[Any, Any], header: Header) -> int:
    """EXIF orientation, 1 to 8; 1, upright, where the file has none that can be read.

    Args:
        data: (bytes,) uint8, one encoded image.
        header: what ``inspect`` returned for it.
    """
    place = _PLACE.get(header.format)
    return _orientation(bytes(place(data.data))) if place else UPRIGHT


def with_plain_exif(data: np.ndarray[Any, Any], header: Header) -> np.ndarray[Any, Any]:
    """The image, with nothing but the orientation in its EXIF data if it is a PNG that has some.

    On others DALI 2.4 writes beyond its memory: where an entry that can't be read comes behind an
    orientation that swaps the sides, it turns the picture and forgets that it is turned.

    Args:
        data: (bytes,) uint8, one encoded image.
        header: what ``inspect`` returned for it.
    """
    view = data.data
    if header.format != "PNG" or not exif_of_png(view):
        return data
    entry = struct.pack(">HHIHH", _ORIENTATION, 3, 1, orientation_of(data, header), 0)
    exif = b"MM\0*" + struct.pack(">IH", 8, 1) + entry + bytes(4)
    pixels = without_metadata(view)
    tidy = pixels[:33] + png_chunk(b"eXIf", exif) + pixels[33:]
    return np.frombuffer(tidy, np.uint8)


def _orientation(exif: bytes) -> int:
    """By the first entry of that name, whose value is a 16-bit number, in the first directory."""
    tiff = exif.removeprefix(b"Exif\0\0")
    order = _BYTE_ORDER.get(tiff[:4])
    if order is None:
        return UPRIGHT
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
    except struct.error:
        return UPRIGHT
    entries = tiff[start + 2 : start + 2 + 12 * count]
    whole = entries[: len(entries) // 12 * 12]
    for tag, value in struct.iter_unpack(f"{order}H6xH2x", whole):
        if tag == _ORIENTATION:
            return int(value) if 1 <= value <= 8 else UPRIGHT
    return UPRIGHT

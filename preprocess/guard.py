"""The verdict on one encoded image, from its header alone, before any decoding.

In: the bytes of one image, padding allowed. Out: a ``Header``, or ``InvalidInput`` that says what
was expected and what came. The formats are read in ``preprocess.headers`` and ``preprocess.jpeg``.

A request costs what its header claims, not what it weighs: 50 kB of PNG can be 400 million pixels.
And one bad image costs DALI the whole batch. So what will be refused is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemble.errors import ContractMismatch, InvalidInput
from preprocess.headers import Header, read_bmp, read_png, read_webp, refusal
from preprocess.jpeg import read_jpeg, trial_endings

__all__ = ["ACCEPTED", "Header", "Limits", "inspect", "trial_endings"]

ACCEPTED = "JPEG, PNG, WEBP or BMP"


@dataclass(frozen=True)
class Limits:
    """The most that one image may ask of the decoder.

    Attributes:
        max_bytes: length as sent, padding included, bytes. Raising it lets each waiting image hold
            that much memory in the server.
        max_pixels: height x width as stored, pixels. Raising it costs memory and time of the
            decoder: for 49 million pixels DALI 2.4 took 0.3 to 0.4 GB more and, of one core, 0.5 s
            (JPEG), 1 s (WEBP, BMP), 2 s (progressive JPEG) or 3 s (PNG).
        max_aspect: longer side over shorter side, no unit. Raising it costs memory after the
            resize, which keeps the aspect: 50 with a shorter side of 256 pixels are 9.8 MB.
    """

    max_bytes: int = 32 << 20
    max_pixels: int = 50_000_000
    max_aspect: float = 50.0

    @classmethod
    def from_parameters(cls, settings: Mapping[str, str]) -> Limits:
        """Those of a model's configuration."""
        return cls(
            max_bytes=int(settings["max_image_bytes"]),
            max_pixels=int(settings["max_image_pixels"]),
            max_aspect=int(settings["max_image_aspect"]),
        )

    def __post_init__(self) -> None:
        """Reject limits that no image could keep.

        Raises:
            ContractMismatch: naming the limit, what it may be, and what it was.
        """
        for name in ("max_bytes", "max_pixels", "max_aspect"):
            value = getattr(self, name)
            if not value >= 1:
                raise ContractMismatch(f"limits: {name} must be at least 1, got {value}")

    def check_size(self, name: str, height: int, width: int) -> None:
        """Raise InvalidInput for a picture of ``height`` x ``width`` that is over a limit."""
        got = f"{width} x {height} (width x height)"
        if height < 1 or width < 1:
            raise refusal(f"{name} without pixels", "sides of at least 1 pixel", got)
        if height * width > self.max_pixels:
            raise refusal(f"{name} is too large", f"at most {self.max_pixels} pixels", got)
        if max(height, width) > self.max_aspect * min(height, width):
            expected = f"a longer side of at most {self.max_aspect:g} times the shorter"
            raise refusal(f"{name} is too narrow", expected, got)


def inspect(data: Any, limits: Limits) -> Header:
    """What the header says, of an image that may be decoded.

    Args:
        data: one encoded image, (bytes,) uint8 as an array, memoryview or bytes; zeros behind
            its end are padding.
        limits: what is too much.

    Raises:
        InvalidInput: not an image, a format or kind that is not accepted, damaged, certainly cut
            short, animated, or over a limit.
    """
    view = _flat_bytes(data)
    if len(view) > limits.max_bytes:
        raise refusal("image is too long", f"at most {limits.max_bytes} bytes", len(view))
    head = bytes(view[:16])
    if head[:2] == b"\xff\xd8":
        return read_jpeg(view, limits.check_size)
    if head[:8] == b"\x89PNG\r\n\x1a\n":
        return read_png(view, limits.check_size)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return read_webp(view, limits.check_size)
    if head[:2] == b"BM":
        return read_bmp(view, limits.check_size)
    raise _not_accepted(view)


def _flat_bytes(data: Any) -> memoryview:
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError):
        raise refusal("image", "bytes", type(data).__name__) from None
    if view.format != "B" or view.ndim != 1:
        got = f"{view.ndim} dimensions of type {view.format!r}"
        raise refusal("image", "one dimension of uint8", got)
    return view if view.c_contiguous else memoryview(view.tobytes())


# Offset, bytes there, name. Those that DALI could decode too are not in the accepted list: TIFF,
# JPEG 2000 and PNM have decoders whose cost no header bounds.
_KNOWN = (
    (0, b"GIF8", "GIF"),
    (0, b"II*\0", "TIFF"),
    (0, b"MM\0*", "TIFF"),
    (0, b"II+\0", "TIFF"),
    (0, b"MM\0+", "TIFF"),
    (4, b"ftypavi", "AVIF"),
    (4, b"ftyphe", "HEIC"),
    (4, b"ftypmif1", "HEIC or AVIF"),
    (4, b"ftypmsf1", "HEIC or AVIF"),
    (4, b"ftyp", "MP4 video"),
    (0, b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (0, b"\xff\x4f\xff\x51", "JPEG 2000"),
    (0, b"\0\0\0\x0cJXL ", "JPEG XL"),
    (0, b"\xff\x0a", "JPEG XL"),
    (0, b"II\xbc", "JPEG XR"),
    (0, b"%PDF", "PDF"),
    (0, b"\0\0\1\0", "ICO"),
    (0, b"8BPS", "PSD"),
    (0, b"RIFF", "RIFF (audio or video)"),
    *((0, b"P%d%c" % (digit, space), "PNM") for digit in range(1, 8) for space in b" \t\r\n"),
)
_TEXTS = (
    ((b"<!doctype html", b"<html"), "HTML"),
    ((b"{", b"["), "JSON"),
    ((b"data:", b"/9j/", b"ivborw0kgg", b"uklgr", b"r0lgod"), "base64 text, send the bytes"),
    ((b"<?xml", b"<"), "XML"),
)


def _not_accepted(view: memoryview) -> InvalidInput:
    """The error of bytes that begin like none of the accepted formats."""
    head = bytes(view[:512])
    if not head.strip(b"\0") and not (len(view) > 512 and np.frombuffer(view, np.uint8).any()):
        return refusal("image is empty", ACCEPTED, f"{len(view)} bytes, none but zeros")
    for at, magic, name in _KNOWN:
        if head.startswith(magic, at):
            return refusal(f"{name} is not accepted", ACCEPTED, name)
    text = _kind_of_text(head)
    if text == "SVG":
        return refusal("SVG is not accepted", ACCEPTED, "SVG")
    begins = f"bytes that begin with {head[:8].hex(' ')}"
    return refusal("not an image", ACCEPTED, f"{text}, {begins}" if text else begins)


def _kind_of_text(head: bytes) -> str:
    """What text the bytes look like, or ''."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if b"<svg" in start and start.startswith(b"<"):
        return "SVG"
    for beginnings, name in _TEXTS:
        if start.startswith(beginnings):
            return name
    printable = all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head.rstrip(b"\0"))
    return "text" if printable else ""

"""Image files for the tests: good ones, damaged ones and hostile ones, each as bytes.

Small (48 x 64 unless told), the same on every call. What a library can write is written by Pillow
or OpenCV; what none of them writes is put together from the format's own parts.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

HEIGHT, WIDTH = 48, 64

Pixels = npt.NDArray[np.uint8]


def pixels(height: int = HEIGHT, width: int = WIDTH, seed: int = 0) -> Pixels:
    """Smooth waves and some noise, (height, width, 3) uint8; no two corners alike."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width][..., None]
    waves = np.sin(random.uniform(0.02, 0.2, 3) * x + random.uniform(0.02, 0.2, 3) * y)
    noise = random.normal(0, 12, (height, width, 3))
    levels: Pixels = np.clip(128 + 90 * waves + noise, 0, 255).astype(np.uint8)
    return levels


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    """The file that Pillow writes."""
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def picture(height: int = HEIGHT, width: int = WIDTH, mode: str = "RGB") -> Image.Image:
    return Image.fromarray(pixels(height, width)).convert(mode)


def jpeg(height: int = HEIGHT, width: int = WIDTH, mode: str = "RGB", **options: Any) -> bytes:
    return saved(picture(height, width, mode), "JPEG", **options)


def progressive_jpeg() -> bytes:
    return jpeg(progressive=True)


def restart_jpeg() -> bytes:
    """A baseline JPEG of 12 units, with a restart marker behind each but the last."""
    return jpeg(restart_marker_blocks=1)


def grey_jpeg() -> bytes:
    return jpeg(mode="L")


def cmyk_jpeg() -> bytes:
    return jpeg(mode="CMYK")


def ycck_jpeg() -> bytes:
    """CMYK stored as YCbCr and K, which only the Adobe marker tells."""
    ycc = 255 - np.asarray(picture(mode="YCbCr"))
    no_ink = np.zeros((HEIGHT, WIDTH, 1), np.uint8)
    stored = np.concatenate([ycc, no_ink], axis=2)
    data = saved(Image.frombytes("CMYK", (WIDTH, HEIGHT), stored.tobytes()), "JPEG", quality=95)
    at = data.index(b"Adobe") + 11  # the transform flag
    return data[:at] + b"\2" + data[at + 1 :]


def subsampled_jpeg(factor: str) -> bytes:
    """A JPEG with chroma stored as ``411``, ``420``, ``422``, ``440`` or ``444``."""
    value = getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{factor}")
    options = [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, value]
    return bytes(cv2.imencode(".jpg", pixels()[..., ::-1], options)[1])


def png(mode: str = "RGB", **options: Any) -> bytes:
    return saved(picture(mode=mode), "PNG", **options)


def webp(mode: str = "RGB", **options: Any) -> bytes:
    return saved(picture(mode=mode), "WEBP", **options)


def bmp(mode: str = "RGB") -> bytes:
    return saved(picture(mode=mode), "BMP")


def exif_oriented(value: int, kind: str = "JPEG") -> bytes:
    """A file with EXIF orientation ``value``, 1 to 8."""
    exif = Image.Exif()
    exif[0x0112] = value
    return saved(picture(), kind, exif=exif)


def with_exif(exif: bytes, kind: str = "JPEG") -> bytes:
    """A file with these EXIF data, which begin with the byte order."""
    if kind == "JPEG":
        return behind_soi(jpeg(), segment(0xE1, b"Exif\0\0" + exif))
    if kind == "PNG":
        return in_png(png(), chunk(b"eXIf", exif))
    return riff(webp_canvas(HEIGHT, WIDTH, 0x08), webp_picture(), (b"EXIF", exif))


def animated(kind: str) -> bytes:
    """Two frames as GIF, WEBP or PNG."""
    second = picture().rotate(180)
    return saved(picture(), kind, save_all=True, append_images=[second], duration=100)


def truncated(data: bytes, part: float) -> bytes:
    """The first ``part`` of the file, 0 to 1."""
    return data[: int(len(data) * part)]


def padded(data: bytes, count: int = 1000) -> bytes:
    """The file with zeros behind it, as in a request of several images."""
    return data + bytes(count)


# JPEG by its segments


def segment(marker: int, body: bytes = b"") -> bytes:
    """One JPEG segment, 0xFF and the length included."""
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def behind_soi(data: bytes, inserted: bytes) -> bytes:
    """The JPEG with more bytes behind its first marker."""
    return data[:2] + inserted + data[2:]


def before_marker(data: bytes, marker: int, inserted: bytes) -> bytes:
    """The JPEG with more bytes before its first ``marker``; for markers of the header."""
    at = data.index(bytes([0xFF, marker]))
    return data[:at] + inserted + data[at:]


def frame_header(data: bytes) -> int:
    """Offset of the SOF marker of a JPEG without a thumbnail."""
    return next(
        at for at in map(data.find, (b"\xff\xc0\0", b"\xff\xc1\0", b"\xff\xc2\0")) if at > 0
    )


def frame_of(data: bytes) -> bytes:
    """The SOF segment of a JPEG of three components."""
    at = frame_header(data)
    return data[at : at + 19]


def changed(data: bytes, at: int, new: bytes) -> bytes:
    """The file with ``new`` written over it at ``at``."""
    return data[:at] + new + data[at + len(new) :]


def jpeg_of_flavour(marker: int, precision: int = 8) -> bytes:
    """A baseline JPEG that claims another SOF marker or another sample precision."""
    data = jpeg()
    at = frame_header(data)
    return changed(changed(data, at + 1, bytes([marker])), at + 4, bytes([precision]))


def jpeg_claiming(height: int, width: int, data: bytes | None = None) -> bytes:
    """A JPEG whose frame header claims another size than its data have."""
    data = data or jpeg()
    return changed(data, frame_header(data) + 5, struct.pack(">HH", height, width))


def jpeg_with_thumbnail(data: bytes | None = None) -> bytes:
    """A JPEG whose EXIF segment holds a whole smaller JPEG, end marker included."""
    small = jpeg(16, 16)
    first = struct.pack("<IHHHIII", 8, 1, 0x0112, 3, 1, 1, 26)  # orientation 1, next at 26
    second = struct.pack("<HHHIIHHIII", 2, 0x0201, 4, 1, 56, 0x0202, 4, 1, len(small), 0)
    exif = b"Exif\0\0II*\0" + first + second
    return behind_soi(data or jpeg(), segment(0xE1, exif + small))


def jpeg_of_scans(count: int) -> bytes:
    """A progressive JPEG that sends its last scan again and again, ``count`` scans in all."""
    data = progressive_jpeg()
    last = data.rindex(b"\xff\xda")
    return data[:-2] + data[last:-2] * (count - data.count(b"\xff\xda")) + data[-2:]


# PNG by its chunks


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    """One PNG chunk with length and checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_of(
    height: int, width: int, depth: int = 8, colour: int = 2, packed: bytes | None = None
) -> bytes:
    """A PNG of black pixels; ``packed`` replaces its pixel data."""
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(colour, 1)
    if packed is None:
        packed = zlib.compress(bytes(height * (1 + (width * depth * channels + 7) // 8)))
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    body = chunk(b"PLTE", bytes(6)) if colour == 3 else b""
    body += chunk(b"IDAT", packed)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + body + chunk(b"IEND")


def bomb_png(height: int = 60_000, width: int = 60_000) -> bytes:
    """A few bytes that claim 3.6 gigapixels."""
    return png_of(height, width, packed=b"x")


def in_png(data: bytes, inserted: bytes) -> bytes:
    """The PNG with more bytes behind its IHDR chunk."""
    return data[:33] + inserted + data[33:]


# WebP and BMP


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    """A WebP of these chunks."""
    body = b"".join(
        kind + struct.pack("<I", len(data)) + data + bytes(len(data) & 1) for kind, data in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def webp_with_odd_chunk(kind: bytes = b"EXIF") -> bytes:
    """A valid WebP with a chunk of odd length, then one of ``kind``; its flags promise EXIF."""
    flags = 0x08
    last = (kind, b"II*\0" + bytes(10))
    return riff(webp_canvas(HEIGHT, WIDTH, flags), webp_picture(), (b"ODD ", b"x"), last)


def mended(data: bytes) -> bytes:
    """A cut WebP with a RIFF size that fits again."""
    return changed(data, 4, struct.pack("<I", len(data) - 8))


def webp_canvas(height: int, width: int, flags: int = 0) -> tuple[bytes, bytes]:
    """The VP8X chunk of a canvas."""
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"VP8X", bytes([flags, 0, 0, 0]) + sides


def webp_picture() -> tuple[bytes, bytes]:
    """The VP8L chunk of the usual picture."""
    data = webp(lossless=True)
    return data[12:16], data[20:]


def bmp_of(
    height: int, width: int, bits: int = 24, compression: int = 0, header_bytes: int = 40
) -> bytes:
    """A black BMP; a negative height stands for rows from the top down."""
    body = bytes(abs(height) * ((abs(width) * bits + 31) // 32 * 4))
    palette = bytes(4 << bits if bits <= 8 else 0)
    if compression == 1:
        body = (bytes([width, 0]) + b"\0\0") * height + b"\0\1"
    start = 14 + header_bytes + len(palette) + (12 if compression == 3 else 0)
    sizes = (width, height, 1, bits, compression, len(body))
    header = struct.pack("<IiiHHII", header_bytes, *sizes) if header_bytes != 12 else b""
    header = header or struct.pack("<IHHHH", 12, width, height, 1, bits)
    masks = struct.pack("<III", 0xFF0000, 0xFF00, 0xFF) if compression == 3 else b""
    header = header.ljust(header_bytes, b"\0") + masks + palette
    return b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, start) + header + body


WHOLE: dict[str, Callable[[], bytes]] = {
    "jpeg": jpeg,
    "jpeg progressive": progressive_jpeg,
    "jpeg grey": grey_jpeg,
    "jpeg cmyk": cmyk_jpeg,
    "jpeg restart": restart_jpeg,
    "jpeg thumbnail": jpeg_with_thumbnail,
    "png": png,
    "png palette": lambda: png("P"),
    "webp": webp,
    "webp lossless": lambda: webp(lossless=True),
    "webp exif": lambda: exif_oriented(6, "WEBP"),
    "bmp": bmp,
    "bmp palette": lambda: bmp("P"),
}

"""PNG, WebP and BMP headers: size, kind and where the picture ends. JPEG is in ``preprocess.jpeg``.

In: the encoded bytes as a flat ``memoryview`` of uint8. Out: a ``Header``, or ``InvalidInput``.
Pixel data is stepped over by its length and never read. Every length comes from the sender, so each
is compared with the bytes that are there, and each walk has a cap.

What is refused by name was seen to decode wrongly, or not at all, in DALI 2.4 on the CPU.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ensemble.errors import InvalidInput

MAX_CHUNKS = 20_000  # 32 MiB of PNG in the usual 8 kB chunks are 4,096
MAX_EXIF_BYTES = 65_535

CheckSize = Callable[[str, int, int], None]
"""Takes format, height and width; raises ``InvalidInput`` when the picture is over a limit."""


@dataclass(frozen=True)
class Header:
    """What the header says of one picture that may be decoded.

    Attributes:
        format: ``JPEG``, ``PNG``, ``WEBP`` or ``BMP``.
        height: rows as stored, before an EXIF orientation is applied, pixels.
        width: columns as stored, pixels.
        complete: False for a JPEG whose data stop before the format says: it may still hold every
            pixel (only the end marker is lost) or not, and only a decoder can tell. It has to be
            judged alone, never as a member of a batch.
        end: offset one past the picture's last byte; what follows is padding. Where ``complete``
            is False: the offset at which the end marker should stand.
    """

    format: str
    height: int
    width: int
    complete: bool
    end: int

    @property
    def pixels(self) -> int:
        """Height x width."""
        return self.height * self.width


def refusal(what: str, expected: object, got: object) -> InvalidInput:
    """The error of an image that is not decoded, worded the same everywhere."""
    return InvalidInput(f"{what}: expected {expected}, got {got}")


def truncated(name: str, expected: object, got: object) -> InvalidInput:
    """The error of a file that ends before its format says."""
    return refusal(f"truncated {name}", expected, got)


def undecodable(header: Header) -> InvalidInput:
    """The error of a file whose header is right and whose data are not."""
    got = "data that is damaged or cut short"
    size = f"{header.width} x {header.height} pixels"
    return InvalidInput(f"expected a whole {header.format} of {size}, got {got}")


def _check_exif(name: str, length: int) -> None:
    """Refuse EXIF data that no JPEG could hold: readers go through them once for each entry."""
    if length > MAX_EXIF_BYTES:
        raise refusal(f"{name} with EXIF", f"at most {MAX_EXIF_BYTES} bytes of it", length)


def animated(name: str, got: str) -> InvalidInput:
    """The error of a file with several frames: which one is meant is the sender's to say."""
    return refusal(f"animated {name}, send one frame", "a still picture", got)


# PNG: https://www.w3.org/TR/png-3/, 5.3 (chunks), 11.2.1 (IHDR), 11.3.4.1 (acTL)

_CHUNK = struct.Struct(">I4s").unpack_from
_IHDR = struct.Struct(">I4sIIBBBBBI").unpack_from
_PNG_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_MAX_DEFLATE = 1032  # bytes out per byte in. Source: https://zlib.net/zlib_tech.html


def read_png(data: memoryview, check_size: CheckSize) -> Header:
    """The header of a PNG that has its IEND chunk; raises ``InvalidInput``."""
    if len(data) < 33:
        raise truncated("PNG", "33 bytes of header", f"{len(data)} bytes")
    length, kind, width, height, depth, colour, deflate, filters, interlace, crc = _IHDR(data, 8)
    if (length, kind) != (13, b"IHDR"):
        raise refusal("damaged PNG", "IHDR of 13 bytes as first chunk", f"{kind!r} of {length}")
    if zlib.crc32(data[12:29]) != crc:
        raise refusal("damaged PNG", f"IHDR checksum {crc:08x}", f"{zlib.crc32(data[12:29]):08x}")
    check_size("PNG", height, width)
    if depth not in _PNG_DEPTHS.get(colour, ()):
        raise refusal(
            "invalid PNG", "a bit depth that its colour type has", f"type {colour}, {depth} bits"
        )
    if deflate or filters or interlace > 1:
        got = f"compression {deflate}, filter {filters}, interlace {interlace}"
        raise refusal("invalid PNG", "compression 0, filter 0, interlace 0 or 1", got)
    pixel_bytes = height * ((width * depth * _PNG_CHANNELS[colour] + 7) // 8)
    return Header("PNG", height, width, True, _end_of_png(data, pixel_bytes))


def _end_of_png(data: memoryview, pixel_bytes: int) -> int:
    packed_bytes = stop = 0
    for kind, start, stop in _png_chunks(data):
        if kind == b"IDAT":
            packed_bytes += stop - start - 12
        elif kind == b"acTL" and not packed_bytes:
            raise animated("PNG", "an acTL chunk")
        elif kind == b"eXIf":
            _check_exif("PNG", stop - start - 12)
    if packed_bytes * _MAX_DEFLATE < pixel_bytes:
        need = -(-pixel_bytes // _MAX_DEFLATE)
        raise truncated("PNG", f"at least {need} bytes of pixel data", f"{packed_bytes} bytes")
    return stop


def _png_chunks(data: memoryview) -> Iterator[tuple[bytes, int, int]]:
    """Kind, start and stop of each chunk behind IHDR up to IEND; raises where one is missing."""
    at = 33
    for _ in range(MAX_CHUNKS):
        if at + 12 > len(data):
            raise truncated("PNG", "an IEND chunk", f"the end of the data at byte {len(data)}")
        length, kind = _CHUNK(data, at)
        if not kind.isalpha():  # also a cut file that is padded with zeros
            raise truncated("PNG", f"a chunk at byte {at}", f"bytes {kind.hex(' ')} for its name")
        stop = at + 12 + length
        if stop > len(data):
            raise truncated(
                "PNG", f"{stop} bytes up to the end of {kind.decode()}", f"{len(data)} bytes"
            )
        yield kind, at, stop
        if kind == b"IEND":
            return
        at = stop
    raise refusal("damaged PNG", f"at most {MAX_CHUNKS} chunks", "more")


def without_metadata(data: memoryview) -> bytes:
    """A PNG that ``read_png`` has taken, with the chunks alone that its pixels are made of."""
    critical = (data[start:stop] for kind, start, stop in _png_chunks(data) if kind[:1].isupper())
    return b"".join((data[:33], *critical))


def png_chunk(kind: bytes, body: bytes) -> bytes:
    """One chunk with its length and checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def exif_of_png(data: memoryview) -> memoryview:
    """The EXIF data of a PNG that ``read_png`` has taken; empty where it has none."""
    places = (data[at + 8 : stop - 4] for kind, at, stop in _png_chunks(data) if kind == b"eXIf")
    return next(places, data[:0])


# WebP: https://developers.google.com/speed/webp/docs/riff_container; RFC 6386, 9.1 (VP8 header)

_RIFF_CHUNK = struct.Struct("<4sI").unpack_from
_WEBP_ANIMATION, _WEBP_EXIF = 0x02, 0x08  # flags of VP8X
_VP8_START = b"\x9d\x01\x2a"


def read_webp(data: memoryview, check_size: CheckSize) -> Header:
    """The header of a still WebP that is as long as its RIFF size; raises ``InvalidInput``."""
    if len(data) < 20:
        raise truncated("WEBP", "20 bytes of header", f"{len(data)} bytes")
    end = 8 + _RIFF_CHUNK(data, 0)[1]
    if end > len(data):
        raise truncated("WEBP", f"{end} bytes by its RIFF size", f"{len(data)} bytes")
    kind = bytes(data[12:16])
    if kind != b"VP8X":
        height, width = _webp_frame(data, 12, end)
        check_size("WEBP", height, width)
        return Header("WEBP", height, width, True, end)
    if end < 30:
        raise truncated("WEBP", "30 bytes of header", f"{end} bytes")
    if data[20] & _WEBP_ANIMATION:
        raise animated("WEBP", "the animation flag")
    width = 1 + int.from_bytes(data[24:27], "little")
    height = 1 + int.from_bytes(data[27:30], "little")
    check_size("WEBP", height, width)
    frame = _webp_frame(data, _webp_image_chunk(data, end), end)
    if frame != (height, width):
        got = f"a picture of {frame[1]} x {frame[0]}"
        raise refusal("invalid WEBP", f"its canvas of {width} x {height}", got)
    if data[20] & _WEBP_EXIF:
        _check_exif("WEBP", len(_webp_exif(data, end)))
    return Header("WEBP", height, width, True, end)


def exif_of_webp(data: memoryview) -> memoryview:
    """The EXIF data of a WebP that ``read_webp`` has taken; empty where it has none."""
    has_exif = bytes(data[12:16]) == b"VP8X" and data[20] & _WEBP_EXIF
    return _webp_exif(data, len(data)) if has_exif else data[:0]


def _webp_image_chunk(data: memoryview, end: int) -> int:
    """Offset of the first VP8 or VP8L chunk behind the VP8X chunk."""
    at = 12
    for _ in range(MAX_CHUNKS):
        if at + 8 > end:
            raise truncated("WEBP", "a VP8 or VP8L chunk", f"the end of the file at byte {end}")
        kind, length = _RIFF_CHUNK(data, at)
        if kind in (b"VP8 ", b"VP8L"):
            return at
        if kind in (b"ANIM", b"ANMF"):
            raise animated("WEBP", f"a chunk {kind.decode()}")
        at += 8 + length + (length & 1)
    raise refusal("damaged WEBP", f"a VP8 or VP8L chunk among the first {MAX_CHUNKS}", "none")


def _webp_exif(data: memoryview, end: int) -> memoryview:
    """The EXIF data; refuses a file in which DALI 2.4 does not find them and gives up the batch.

    It steps over chunks without the byte that fills an odd one up.
    """
    at = 30
    for _ in range(MAX_CHUNKS):
        if at + 8 > end:
            break
        kind, length = _RIFF_CHUNK(data, at)
        if kind == b"EXIF":
            return data[at + 8 : min(at + 8 + length, end)]
        if length & 1:
            expected = "chunks of even length before its EXIF chunk, the decoder reads no others"
            raise refusal("WEBP with EXIF", expected, f"{kind!r} of {length} bytes")
        at += 8 + length
    raise refusal("damaged WEBP", "an EXIF chunk, by its flags", "none")


def _webp_frame(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Height and width by the VP8 or VP8L chunk at ``at``."""
    kind, length = _RIFF_CHUNK(data, at)
    if at + 8 + length > end:
        got = f"a chunk of {length} bytes at byte {at} of {end}"
        raise truncated("WEBP", "a whole picture chunk", got)
    body = bytes(data[at + 8 : at + 8 + min(length, 10)])
    if kind == b"VP8 " and len(body) == 10 and not body[0] & 1 and body[3:6] == _VP8_START:
        width, height = struct.unpack_from("<HH", body, 6)
        return height & 0x3FFF, width & 0x3FFF
    if kind == b"VP8L" and len(body) > 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits >> 14 & 0x3FFF), 1 + (bits & 0x3FFF)
    raise refusal("damaged WEBP", "a VP8 key frame or VP8L picture", f"{kind!r} {body.hex(' ')}")


# BMP: https://learn.microsoft.com/windows/win32/gdi/bitmap-storage

_BMP_HEADERS = (40, 52, 56, 64, 108, 124)
_BMP_COMPRESSION = ("no compression", "RLE8", "RLE4", "bit masks", "JPEG", "PNG")
_BMP_DECODED = {(0, 1), (0, 4), (0, 8), (0, 24), (0, 32), (1, 8), (3, 32)}  # compression, bits
_BMP_BGR, _BMP_RGB = (0xFF0000, 0xFF00, 0xFF), (0xFF, 0xFF00, 0xFF0000)  # masks


def read_bmp(data: memoryview, check_size: CheckSize) -> Header:
    """The header of a BMP that holds its whole pixel array; raises ``InvalidInput``."""
    if len(data) < 26:
        raise truncated("BMP", "26 bytes of header", f"{len(data)} bytes")
    start, header_bytes = struct.unpack_from("<II", data, 10)
    packed_bytes = compression = 0
    if header_bytes == 12:
        width, height, _, bits = struct.unpack_from("<HHHH", data, 18)
    elif header_bytes not in _BMP_HEADERS:
        raise refusal("damaged BMP", f"a header of 12 or {_BMP_HEADERS} bytes", header_bytes)
    elif len(data) < 14 + header_bytes:
        raise truncated("BMP", f"{14 + header_bytes} bytes of header", f"{len(data)} bytes")
    else:
        width, height, _, bits, compression, packed_bytes = struct.unpack_from("<iiHHII", data, 18)
    height = abs(height) if header_bytes != 12 else height  # negative: rows from the top down
    check_size("BMP", height, width)
    _check_bmp_kind(data, header_bytes, compression, bits)
    if start < 14 + header_bytes:
        raise refusal("damaged BMP", f"pixels from byte {14 + header_bytes} on", start)
    if compression != 1:
        packed_bytes = height * ((width * bits + 31) // 32 * 4)
    elif not packed_bytes:
        raise refusal("BMP with RLE8", "the size of its pixel data", "0")
    if start + packed_bytes > len(data):
        raise truncated("BMP", f"{start + packed_bytes} bytes", f"{len(data)} bytes")
    return Header("BMP", height, width, True, start + packed_bytes)


def _check_bmp_kind(data: memoryview, header_bytes: int, compression: int, bits: int) -> None:
    known = compression < len(_BMP_COMPRESSION)
    name = _BMP_COMPRESSION[compression] if known else f"compression {compression}"
    if (compression, bits) not in _BMP_DECODED or (header_bytes == 64 and compression):
        expected = "1, 4, 8, 24 or 32 bits, uncompressed, or RLE8"
        raise refusal("unsupported BMP", expected, f"{bits} bits, {name}")
    if compression != 3:
        return
    if len(data) < 66:
        raise truncated("BMP", "66 bytes with its bit masks", f"{len(data)} bytes")
    masks = struct.unpack_from("<III", data, 54)
    # Decoders read masks as part of the header, and take those behind a shorter one for BGR.
    if masks not in (_BMP_BGR, _BMP_RGB) or (masks == _BMP_RGB and header_bytes < 56):
        got = " ".join(f"{mask:08x}" for mask in masks) + f" and a header of {header_bytes}"
        expected = "one byte a channel, in BGR order, or RGB with a header of 56 bytes or more"
        raise refusal("unsupported BMP", expected, got)

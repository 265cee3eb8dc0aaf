"""What the guard refuses by name: not an image, not accepted, damaged, cut short, animated."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import partial

import pytest

from ensemble.errors import InvalidInput
from preprocess.guard import Limits, inspect
from preprocess.headers import MAX_CHUNKS
from preprocess.jpeg import MAX_SCANS, MAX_SEGMENTS
from tests.fakes import images as fake

Factory = Callable[[], bytes]

HEIGHT, WIDTH = fake.HEIGHT, fake.WIDTH


def refused(data: bytes) -> str:
    with pytest.raises(InvalidInput) as caught:
        inspect(data, Limits())
    message = str(caught.value)
    assert ": expected " in message, "the message says what, expected, got"
    assert ", got " in message
    return message


# id: factory, words of the message
NOT_IMAGES: dict[str, tuple[Factory, tuple[str, ...]]] = {
    "empty": (bytes, ("empty", "0 bytes")),
    "zeros": (lambda: bytes(100_000), ("empty", "100000 bytes")),
    "one byte": (lambda: b"\x89", ("not an image", "begin with 89")),
    "noise": (lambda: bytes(range(200, 256)), ("not an image", "c8 c9 ca cb cc cd ce cf")),
    "HTML": (lambda: b"<!DOCTYPE html><html>", ("not an image", "HTML")),
    "HTML error": (lambda: b"\n<html><body>404", ("not an image", "HTML")),
    "JSON": (lambda: b'{"error": 1}', ("not an image", "JSON")),
    "XML": (lambda: b"<?xml version='1.0'?><a/>", ("not an image", "XML")),
    "text": (lambda: b"no image here", ("not an image", "text")),
    "base64": (lambda: b"/9j/4AAQSkZJRg", ("not an image", "base64")),
    "data URL": (lambda: b"data:image/png;base64,iVBOR", ("not an image", "base64")),
    "GIF": (lambda: fake.saved(fake.picture(), "GIF"), ("GIF",)),
    "animated GIF": (partial(fake.animated, "GIF"), ("GIF",)),
    "TIFF": (lambda: fake.saved(fake.picture(), "TIFF"), ("TIFF",)),
    "TIFF of Motorola": (lambda: b"MM\0*\0\0\0\x08", ("TIFF",)),
    "AVIF": (lambda: fake.saved(fake.picture(), "AVIF"), ("AVIF",)),
    "HEIC": (lambda: b"\0\0\0\x18ftypheic\0\0\0\0", ("HEIC",)),
    "video": (lambda: b"\0\0\0\x18ftypmp42\0\0\0\0", ("MP4",)),
    "JPEG 2000": (lambda: fake.saved(fake.picture(), "JPEG2000"), ("JPEG 2000",)),
    "JPEG 2000 stream": (lambda: b"\xff\x4f\xff\x51\0\x2f", ("JPEG 2000",)),
    "JPEG XL": (lambda: b"\xff\x0a\xfa\x1f", ("JPEG XL",)),
    "JPEG XL box": (lambda: b"\0\0\0\x0cJXL \r\n\x87\n", ("JPEG XL",)),
    "PDF": (lambda: b"%PDF-1.7", ("PDF",)),
    "SVG": (lambda: b'<svg xmlns="http://www.w3.org/2000/svg"/>', ("SVG",)),
    "SVG with a prolog": (lambda: b'<?xml version="1.0"?>\n<svg/>', ("SVG",)),
    "PNM": (lambda: fake.saved(fake.picture(), "PPM"), ("PNM",)),
    "ICO": (lambda: fake.saved(fake.picture(), "ICO"), ("ICO",)),
    "PSD": (lambda: b"8BPS\0\1", ("PSD",)),
    "sound": (lambda: b"RIFF\x24\0\0\0WAVEfmt ", ("RIFF",)),
}


@pytest.mark.parametrize("name", NOT_IMAGES)
def test_what_is_not_accepted_is_named_next_to_what_is(name: str) -> None:
    factory, words = NOT_IMAGES[name]
    message = refused(factory())
    assert all(word in message for word in (*words, "JPEG, PNG, WEBP or BMP")), message


DAMAGED: dict[str, tuple[Factory, tuple[str, ...]]] = {
    # JPEG: flavours
    **{
        f"JPEG SOF {marker:x}": (
            partial(fake.jpeg_of_flavour, marker),
            (word, f"FF{marker:02X}"),
        )
        for marker, word in {
            **{0xC3: "lossless", 0xC5: "hierarchical", 0xC6: "hierarchical", 0xC7: "hierarchical"},
            **{0xC9: "arithmetic", 0xCA: "arithmetic", 0xCB: "arithmetic", 0xCD: "arithmetic"},
            **{0xCE: "arithmetic", 0xCF: "arithmetic", 0xDE: "hierarchical", 0xF7: "JPEG-LS"},
            **{0xC8: "damaged", 0xD0: "damaged", 0xD8: "damaged", 0x01: "damaged", 0xF0: "damaged"},
        }.items()
    },
    "12-bit JPEG": (partial(fake.jpeg_of_flavour, 0xC1, precision=12), ("12-bit", "8 bits")),
    "JPEG of two components": (
        lambda: fake.before_marker(
            fake.jpeg(), 0xC0, fake.segment(0xC0, b"\x08\0\x30\0\x40\2" + b"\1\x11\0\2\x11\0")
        ),
        ("1, 3 or 4 components", "2"),
    ),
    "CMYK without Adobe marker": (
        lambda: fake.cmyk_jpeg().replace(b"Adobe", b"Abode"),
        ("CMYK", "Adobe"),
    ),
    # JPEG: structure
    "JPEG with two frames": (
        lambda: fake.before_marker(fake.jpeg(), 0xC4, fake.frame_of(fake.jpeg(16, 16))),
        ("one frame header", "two"),
    ),
    "JPEG with a smaller frame first": (
        lambda: fake.before_marker(fake.jpeg(), 0xC0, fake.frame_of(fake.jpeg(16, 16))),
        ("one frame header", "two"),
    ),
    "JPEG with a frame behind a scan": (
        lambda: fake.progressive_jpeg()[:-2] + fake.frame_of(fake.jpeg(16, 16)) + b"\xff\xd9",
        ("one frame header", "two"),
    ),
    "JPEG without a frame": (
        lambda: fake.jpeg().replace(fake.frame_of(fake.jpeg()), b""),
        ("frame header", "none"),
    ),
    "JPEG length 0": (lambda: fake.behind_soi(fake.jpeg(), b"\xff\xe1\0\0"), ("segment", "0")),
    "JPEG length 1": (lambda: fake.behind_soi(fake.jpeg(), b"\xff\xe1\0\1"), ("segment", "1")),
    "JPEG length past the end": (
        lambda: fake.behind_soi(fake.jpeg(), b"\xff\xe1\xff\xff"),
        ("truncated", "segment"),
    ),
    "JPEG with bytes between": (lambda: fake.behind_soi(fake.jpeg(), b"ab"), ("marker", "6162")),
    "JPEG of endless fill": (lambda: b"\xff\xd8" + b"\xff" * 100_000, ("4096",)),
    "JPEG of endless segments": (
        lambda: fake.behind_soi(fake.jpeg(), fake.segment(0xFE) * MAX_SEGMENTS),
        ("segments", f"{MAX_SEGMENTS}"),
    ),
    "JPEG of endless scans": (
        partial(fake.jpeg_of_scans, MAX_SCANS + 1),
        ("scans", f"{MAX_SCANS}"),
    ),
    "JPEG sampling factor 0": (
        lambda: fake.changed(fake.jpeg(), fake.frame_header(fake.jpeg()) + 11, b"\0"),
        ("sampling",),
    ),
    "JPEG frame too long": (
        lambda: fake.changed(fake.jpeg(), fake.frame_header(fake.jpeg()) + 9, b"\4"),
        ("frame header", "components"),
    ),
    "JPEG scan of an unknown component": (
        lambda: fake.jpeg().replace(b"\xff\xda\0\x0c\3\1", b"\xff\xda\0\x0c\3\x63"),
        ("components [1, 2, 3]", "99"),
    ),
    "JPEG scan header too long": (
        lambda: fake.jpeg().replace(b"\xff\xda\0\x0c\3", b"\xff\xda\0\x0c\2"),
        ("scan header",),
    ),
    # JPEG: too little in it
    "JPEG magic alone": (lambda: b"\xff\xd8", ("truncated JPEG",)),
    "JPEG without a scan": (
        lambda: b"\xff\xd8" + fake.segment(0xE0, b"JFIF") + b"\xff\xd9",
        ("frame header",),
    ),
    "JPEG cut before its scan": (
        lambda: fake.jpeg()[: fake.jpeg().index(b"\xff\xda") + 9],
        ("truncated JPEG",),
    ),
    "JPEG with an end marker half in its scan header": (
        lambda: fake.jpeg()[: fake.jpeg().index(b"\xff\xda") + 13] + b"\xff\xd9",
        ("truncated JPEG",),
    ),
    "JPEG cut in its thumbnail": (lambda: fake.jpeg_with_thumbnail()[:500], ("truncated JPEG",)),
    "JPEG of 10 times the size": (
        partial(fake.jpeg_claiming, HEIGHT * 10, WIDTH * 10),
        ("truncated JPEG", "bytes of picture data"),
    ),
    "restart markers cut": (lambda: fake.truncated(fake.restart_jpeg(), 0.8), ("restart markers",)),
    "restart markers cut and closed": (
        lambda: fake.truncated(fake.restart_jpeg(), 0.8) + b"\xff\xd9",
        ("truncated JPEG", "11 restart markers"),
    ),
    "progressive cut": (
        lambda: fake.truncated(fake.progressive_jpeg(), 0.6),
        ("truncated JPEG", "scans"),
    ),
    "scan of one component only": (
        lambda: fake.jpeg().replace(b"\xff\xda\0\x0c\3\1\0\2\x11\3\x11", b"\xff\xda\0\x08\1\1\0"),
        ("truncated JPEG", "scans"),
    ),
    "JPEG without size": (partial(fake.jpeg_claiming, 0, WIDTH), ("without pixels",)),
    # PNG
    "PNG magic alone": (lambda: fake.png()[:8], ("truncated PNG", "8 bytes")),
    "PNG without IEND": (lambda: fake.png()[:-12], ("truncated PNG", "IEND")),
    "PNG with IEND cut": (lambda: fake.png()[:-1], ("truncated PNG", "IEND")),
    "PNG cut": (lambda: fake.truncated(fake.png(), 0.5), ("truncated PNG", "IDAT")),
    "PNG cut and padded": (
        lambda: fake.padded(fake.truncated(fake.png(), 0.5), 100_000),
        ("truncated PNG", "00 00 00 00"),
    ),
    "PNG chunk past the end": (
        lambda: fake.in_png(fake.png(), b"\x7f\xff\xff\xfftEXt"),
        ("truncated PNG",),
    ),
    "PNG chunk without a name": (
        lambda: fake.in_png(fake.png(), fake.chunk(b"a\1\2\3")),
        ("truncated PNG", "61 01 02 03"),
    ),
    "PNG of endless chunks": (
        lambda: fake.in_png(fake.png(), fake.chunk(b"tEXt") * MAX_CHUNKS),
        ("chunks", f"{MAX_CHUNKS}"),
    ),
    "PNG with a bad checksum": (
        lambda: fake.changed(fake.png(), 29, b"abcd"),
        ("IHDR checksum", "61626364"),
    ),
    "PNG without IHDR": (
        lambda: fake.png()[:8] + fake.chunk(b"tEXt", b"a\0b") + fake.png()[8:],
        ("IHDR", "tEXt"),
    ),
    "PNG without pixel data": (partial(fake.png_of, HEIGHT, WIDTH, packed=b""), ("truncated PNG",)),
    "PNG with too little data": (
        lambda: fake.png_of(4000, 4000, packed=zlib.compress(bytes(4000))),
        ("truncated PNG", "46512 bytes"),
    ),
    **{
        f"PNG type {colour}, {depth} bits": (
            partial(fake.png_of, HEIGHT, WIDTH, depth, colour),
            ("bit depth", f"type {colour}, {depth} bits"),
        )
        for colour, depth in [(0, 3), (2, 4), (3, 16), (4, 4), (6, 1), (1, 8), (5, 8), (7, 8)]
    },
    "PNG interlace 2": (
        lambda: (
            fake.png()[:8]
            + fake.chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 2))
            + fake.png()[33:]
        ),
        ("interlace 2",),
    ),
    "animated PNG": (partial(fake.animated, "PNG"), ("animated PNG", "one frame")),
    "PNG of more EXIF than a JPEG can hold": (
        lambda: fake.in_png(fake.png(), fake.chunk(b"eXIf", bytes(65_536))),
        ("PNG with EXIF", "65535", "65536"),
    ),
    # WebP
    "WebP magic alone": (lambda: fake.webp()[:12], ("truncated WEBP",)),
    "WebP cut": (lambda: fake.truncated(fake.webp(), 0.9), ("truncated WEBP", "RIFF size")),
    "WebP less a byte": (lambda: fake.webp()[:-1], ("truncated WEBP",)),
    "WebP cut, RIFF size mended": (lambda: fake.mended(fake.webp()[:-40]), ("picture chunk",)),
    "WebP without a picture": (
        lambda: fake.riff(fake.webp_canvas(HEIGHT, WIDTH), (b"EXIF", bytes(20))),
        ("truncated WEBP", "VP8"),
    ),
    "WebP of another canvas": (
        lambda: fake.riff(fake.webp_canvas(HEIGHT + 1, WIDTH), fake.webp_picture()),
        ("canvas", f"{WIDTH} x {HEIGHT}"),
    ),
    "WebP of an unknown picture": (lambda: fake.riff((b"VP9 ", bytes(20))), ("VP8",)),
    "WebP of zeros": (lambda: fake.riff((b"VP8 ", bytes(20))), ("key frame",)),
    "WebP of endless chunks": (
        lambda: fake.riff(fake.webp_canvas(HEIGHT, WIDTH), *[(b"ABCD", b"")] * MAX_CHUNKS),
        ("WEBP", f"{MAX_CHUNKS}"),
    ),
    "animated WebP": (partial(fake.animated, "WEBP"), ("animated WEBP", "one frame")),
    "animated WebP without the flag": (
        lambda: fake.riff(fake.webp_canvas(HEIGHT, WIDTH), (b"ANIM", bytes(6))),
        ("animated WEBP", "one frame"),
    ),
    "WebP with EXIF behind an odd chunk": (fake.webp_with_odd_chunk, ("EXIF", "even length")),
    "WebP without the promised EXIF": (
        lambda: fake.riff(fake.webp_canvas(HEIGHT, WIDTH, 0x08), fake.webp_picture(), (b"X", b"")),
        ("EXIF", "none"),
    ),
    "WebP of more EXIF than a JPEG can hold": (
        partial(fake.with_exif, bytes(65_536), "WEBP"),
        ("WEBP with EXIF", "65535", "65536"),
    ),
    # BMP
    "BMP magic alone": (lambda: b"BM", ("truncated BMP",)),
    "BMP cut": (lambda: fake.truncated(fake.bmp(), 0.5), ("truncated BMP",)),
    "BMP less a byte": (lambda: fake.bmp()[:-1], ("truncated BMP",)),
    "BMP header cut": (lambda: fake.bmp()[:40], ("truncated BMP", "header")),
    "BMP of 16 bits": (partial(fake.bmp_of, HEIGHT, WIDTH, 16), ("unsupported BMP", "16 bits")),
    "BMP of 16 bits, masks": (partial(fake.bmp_of, HEIGHT, WIDTH, 16, 3), ("16 bits", "masks")),
    "BMP RLE4": (partial(fake.bmp_of, HEIGHT, WIDTH, 4, 2), ("unsupported BMP", "RLE4")),
    "BMP of JPEG": (partial(fake.bmp_of, HEIGHT, WIDTH, 24, 4), ("unsupported BMP", "JPEG")),
    "BMP of odd masks": (
        lambda: fake.changed(fake.bmp_of(HEIGHT, WIDTH, 32, 3), 54, b"\x0f"),
        ("unsupported BMP", "00ff000f"),
    ),
    "BMP of masks in RGB order behind a short header": (
        lambda: fake.changed(
            fake.bmp_of(HEIGHT, WIDTH, 32, 3), 54, struct.pack("<III", 0xFF, 0xFF00, 0xFF0000)
        ),
        ("unsupported BMP", "header of 40"),
    ),
    "BMP with an unknown header": (lambda: fake.changed(fake.bmp(), 14, b"\x29"), ("header", "41")),
    "BMP with pixels in its header": (lambda: fake.changed(fake.bmp(), 10, b"\2"), ("byte 54",)),
    "BMP of negative width": (partial(fake.bmp_of, HEIGHT, -WIDTH), ("without pixels", "-64")),
    "BMP without size": (partial(fake.bmp_of, 0, WIDTH), ("without pixels",)),
    "BMP of the lowest height": (
        lambda: fake.changed(fake.bmp(), 22, struct.pack("<i", -(2**31))),
        ("too large",),
    ),
    "BMP RLE8 of unknown length": (
        lambda: fake.changed(fake.bmp_of(HEIGHT, WIDTH, 8, 1), 34, bytes(4)),
        ("RLE8", "size"),
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_file_that_no_decoder_may_see_is_refused_with_the_reason(name: str) -> None:
    factory, words = DAMAGED[name]
    message = refused(factory())
    assert all(word in message for word in words), message

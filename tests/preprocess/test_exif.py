"""Orientation by EXIF: where it stands, what can't be read, and data that are made to hurt."""

from __future__ import annotations

import io
import struct
import tracemalloc

import numpy as np
import pytest
from PIL import Image

from ensemble.transform import Transform
from preprocess.decode import Preprocessor
from preprocess.exif import orientation_of, with_plain_exif
from preprocess.guard import Limits, inspect
from preprocess.picture import decode
from tests.fakes import images as fake

XMP = fake.segment(0xE1, b'http://ns.adobe.com/xap/1.0/\0<x tiff:Orientation="3"/>')
SHORT, LONG, ASCII = 3, 4, 2


def tiff(*entries: tuple[int, int, int, bytes], order: str = "<") -> bytes:
    """One directory of tag, type, count and value."""
    body = b"".join(struct.pack(f"{order}HHI4s", *entry) for entry in entries)
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", 8)
    return head + struct.pack(f"{order}H", len(entries)) + body + bytes(4)


def turn(value: int, order: str = "<") -> tuple[int, int, int, bytes]:
    return 0x0112, SHORT, 1, struct.pack(f"{order}H", value)


def orientation(data: bytes) -> int:
    array = np.frombuffer(data, np.uint8)
    return orientation_of(array, inspect(array, Limits()))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_either_order_of_bytes_is_read_in_every_format(kind: str, order: str) -> None:
    assert orientation(fake.with_exif(tiff(turn(6, order), order=order), kind)) == 6


def test_a_bmp_and_files_without_exif_are_upright() -> None:
    files = (fake.bmp(), fake.jpeg(), fake.progressive_jpeg(), fake.png(), fake.webp())
    assert [orientation(data) for data in files] == [1] * 5


@pytest.mark.parametrize(
    "exif",
    [
        b"",
        b"II",
        b"II*\0",
        b"garbage, no byte order",
        b"II*\0\xff\xff\xff\xff",
        tiff(),
        tiff(turn(0)),
        tiff(turn(9)),
        tiff(turn(6))[:16],
    ],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_what_cannot_be_read_turns_nothing(kind: str, exif: bytes) -> None:
    assert orientation(fake.with_exif(exif, kind)) == 1


def test_tags_that_are_broken_do_not_hide_it() -> None:
    beyond = (0x010E, ASCII, 500, struct.pack("<I", 99_999))
    assert orientation(fake.with_exif(tiff(beyond, (0x0110, 99, 1, b"ab"), turn(8)))) == 8


def test_a_second_heading_is_stepped_over() -> None:
    assert orientation(fake.with_exif(b"Exif\0\0" + tiff(turn(3)), "WEBP")) == 3


def test_a_jpeg_that_begins_with_xmp_is_turned() -> None:
    """OpenCV 4.11 looks for EXIF in the first APP1 segment only."""
    data = fake.behind_soi(fake.exif_oriented(6), XMP)
    array = np.frombuffer(data, np.uint8)
    got = decode(array, inspect(array, Limits()), Transform())
    assert got.levels.shape[:2] == (fake.WIDTH, fake.HEIGHT)


def test_exif_behind_the_first_scan_is_not_looked_for() -> None:
    assert orientation(fake.jpeg()[:-2] + fake.with_exif(tiff(turn(6)))[2:]) == 1


@pytest.mark.parametrize("tag", [0x0102, 0x011A], ids=["bits", "resolution"])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_broken_tag_harms_no_picture_of_the_batch(kind: str, tag: int) -> None:
    """Pillow turns a WebP and then can't write its EXIF anew."""
    data = fake.with_exif(tiff(turn(6), (tag, ASCII, 4, b"ab\0\0")), kind)
    batch = [np.frombuffer(one, np.uint8)[None] for one in (fake.jpeg(), data)]
    results = Preprocessor(Transform(), Limits(), batch_size=2, as_levels=True)(batch)
    assert all(isinstance(result, dict) for result in results)


def bomb(size: int) -> bytes:
    """As many entries as fit in half of it, each of which says that it has the other half."""
    count = size // 24
    return tiff(
        *[(0x1000 + n, ASCII, size // 2, struct.pack("<I", 8)) for n in range(count)]
    ).ljust(size)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_no_entry_is_read_but_the_one(kind: str) -> None:
    """Pillow keeps a copy for each entry: 90 MB of these 65 kB."""
    data = fake.with_exif(bomb(65_500), kind)
    tracemalloc.start()
    try:
        assert orientation(data) == 1
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1_000_000


def test_opencv_gets_no_metadata_of_a_png(capfd: pytest.CaptureFixture[str]) -> None:
    """It would go through them, and say what it thinks of them."""
    doubtful = (
        fake.chunk(b"eXIf", b"nothing") + fake.chunk(b"fcTL", b"") + fake.chunk(b"iCCP", b"x")
    )
    for data in (fake.in_png(fake.png(), doubtful), fake.png()[:-12] + doubtful + fake.png()[-12:]):
        array = np.frombuffer(data, np.uint8)
        got = decode(array, inspect(array, Limits()), Transform())
        assert np.array_equal(got.levels, np.asarray(fake.picture()))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("value", [1, 3, 6, 8])
def test_dali_gets_a_png_with_its_orientation_and_no_other_tag(value: int) -> None:
    broken = (0x011A, ASCII, 4, b"ab\0\0")  # a resolution that is none
    data = fake.with_exif(tiff(turn(value), broken), "PNG")
    array = np.frombuffer(data, np.uint8)
    given = with_plain_exif(array, inspect(array, Limits()))
    with Image.open(io.BytesIO(given.tobytes())) as image:
        assert dict(image.getexif()) == {0x0112: value}
        assert np.array_equal(np.asarray(image), np.asarray(fake.picture()))


@pytest.mark.parametrize("data", [fake.png(), fake.exif_oriented(6), fake.exif_oriented(6, "WEBP")])
def test_other_files_are_left_alone(data: bytes) -> None:
    array = np.frombuffer(data, np.uint8)
    assert with_plain_exif(array, inspect(array, Limits())) is array


def test_broken_exif_of_a_png_does_not_break_dali() -> None:
    """Where it is given as it is, the process ends within a few pictures, or pixels are wrong."""
    broken = fake.with_exif(tiff(turn(6), (0x011A, ASCII, 4, b"ab\0\0")), "PNG")
    plain = fake.with_exif(tiff(turn(6)), "PNG")
    stage = Preprocessor(Transform(), Limits(), batch_size=1)
    got, expected = (
        stage([np.frombuffer(data, np.uint8)[None]])[0]["PIXELS"].copy()  # type: ignore[index]
        for data in (broken, plain)
    )
    assert np.array_equal(got, expected)

"""The guard accepts every usual kind of file, and holds each limit at its exact value."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ensemble.errors import ContractMismatch, InvalidInput
from preprocess.guard import Header, Limits, inspect
from tests.fakes import images as fake
from tests.fakes.good_images import GOOD

Factory = Callable[[], bytes]

LIMITS = Limits()
HEIGHT, WIDTH = fake.HEIGHT, fake.WIDTH
KINDS = ("JPEG", "PNG", "WEBP", "BMP")


def refused(data: Any, limits: Limits = LIMITS) -> str:
    with pytest.raises(InvalidInput) as caught:
        inspect(data, limits)
    return str(caught.value)


@pytest.mark.parametrize("name", GOOD)
def test_a_good_file_gives_its_size_as_stored(name: str) -> None:
    factory, kind = GOOD[name]
    header = inspect(factory(), LIMITS)
    assert (header.format, header.height, header.width) == (kind, HEIGHT, WIDTH)
    assert header.complete
    assert header.pixels == HEIGHT * WIDTH


@pytest.mark.parametrize("name", fake.WHOLE)
def test_zeros_behind_a_file_change_nothing_and_are_not_copied(name: str) -> None:
    data = fake.WHOLE[name]()
    expected = inspect(data, LIMITS)
    assert expected.end == len(data)
    long = np.zeros(10_000_000, np.uint8)
    long[: len(data)] = np.frombuffer(data, np.uint8)
    tracemalloc.start()
    assert inspect(long, LIMITS) == expected
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 2_000_000


@pytest.mark.parametrize("size", [(1, 1), (1, 50), (50, 1), (7, 9), (8, 16), (17, 33), (300, 200)])
def test_a_file_of_any_size_is_accepted(size: tuple[int, int]) -> None:
    picture = fake.picture(*size)
    files = [fake.saved(picture, kind) for kind in KINDS]
    files += [fake.saved(picture, "WEBP", lossless=True)]
    files += [fake.saved(picture, "JPEG", restart_marker_blocks=2)]
    for kind in ("L", "RGB", "CMYK"):
        plain = Image.new(kind, size[::-1])
        files += [fake.saved(plain, "JPEG", optimize=True, progressive=yes) for yes in (0, 1)]
    for data in files:
        header = inspect(data, LIMITS)
        assert (header.height, header.width, header.complete) == (*size, True)


def test_an_image_may_come_as_array_memoryview_or_bytes() -> None:
    data = fake.jpeg()
    array = np.frombuffer(data, np.uint8)
    rows = np.zeros((2, len(data) + 7), np.uint8)
    rows[1, : len(data)] = array
    apart = np.repeat(array, 2)[::2]
    for given_as in (data, bytearray(data), memoryview(data), array, rows[1], apart):
        assert inspect(given_as, LIMITS) == Header("JPEG", HEIGHT, WIDTH, True, len(data))


@pytest.mark.parametrize(
    "data",
    [
        None,
        "text",
        5,
        [1, 2],
        np.zeros((2, 2), np.uint8),
        np.zeros(4, np.int8),
        np.array(b"x", "O"),
    ],
)
def test_what_is_no_row_of_bytes_is_refused(data: Any) -> None:
    assert ": expected " in refused(data)


# Limits


@pytest.mark.parametrize("kind", KINDS)
def test_each_limit_holds_at_its_exact_value(kind: str) -> None:
    data = fake.saved(fake.picture(20, 60), kind)
    inspect(data, Limits(max_bytes=len(data)))
    assert f"at most {len(data) - 1} bytes" in refused(data, Limits(max_bytes=len(data) - 1))
    inspect(data, Limits(max_pixels=1200))
    message = refused(data, Limits(max_pixels=1199))
    assert "60 x 20" in message
    assert "at most 1199 pixels" in message
    inspect(data, Limits(max_aspect=3.0))
    assert "2.99 times" in refused(data, Limits(max_aspect=2.99))
    inspect(fake.saved(fake.picture(60, 20), kind), Limits(max_aspect=3.0))
    refused(fake.saved(fake.picture(60, 20), kind), Limits(max_aspect=2.99))


@pytest.mark.parametrize("name", ["max_bytes", "max_pixels", "max_aspect"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_limits_that_no_image_keeps_are_a_fault_of_the_configuration(
    name: str, value: float
) -> None:
    with pytest.raises(ContractMismatch, match=name):
        Limits(**{name: value})  # type: ignore[arg-type]


BOMBS: dict[str, Factory] = {
    "PNG": fake.bomb_png,
    "PNG of one column": partial(fake.bomb_png, 2**31 - 1, 1),
    "PNG of the largest size": partial(fake.bomb_png, 2**32 - 1, 2**32 - 1),
    "JPEG": partial(fake.jpeg_claiming, 65_535, 65_535),
    "progressive JPEG": lambda: fake.jpeg_claiming(65_535, 65_535, fake.progressive_jpeg()),
    "WebP canvas": lambda: fake.riff(fake.webp_canvas(2**24, 2**24), fake.webp_picture()),
    "BMP": lambda: fake.changed(fake.bmp(), 18, b"\xff\xff\xff\x7f\xff\xff\xff\x7f"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_by_its_header_without_memory(name: str) -> None:
    data = BOMBS[name]()
    tracemalloc.start()
    message = refused(data)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "at most 50000000 pixels" in message
    assert peak_bytes < 1_000_000

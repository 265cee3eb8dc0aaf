"""Whatever the bytes are, the guard ends in a Header or in InvalidInput, never in another error."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.errors import InvalidInput
from preprocess.guard import Limits, inspect
from tests.fakes import images as fake

MAGICS = (b"", b"\xff\xd8", b"\xff\xd8\xff\xe1", b"\x89PNG\r\n\x1a\n", b"BM", b"\0" * 20, b"<")
WEBP_MAGICS = tuple(b"RIFF\xff\0\0\0WEBP" + kind for kind in (b"VP8 ", b"VP8L", b"VP8X"))
FILES = {name: factory() for name, factory in fake.WHOLE.items()}


def ends_well(data: bytes) -> None:
    limits = Limits()
    try:
        header = inspect(data, limits)
    except InvalidInput:
        return
    assert header.format in ("JPEG", "PNG", "WEBP", "BMP")
    assert 1 <= header.pixels <= limits.max_pixels
    assert 0 < header.end <= len(data)


@settings(max_examples=400, deadline=None)
@given(magic=st.sampled_from(MAGICS + WEBP_MAGICS), rest=st.binary(max_size=300))
def test_random_bytes_end_well(magic: bytes, rest: bytes) -> None:
    ends_well(magic + rest)


@settings(max_examples=600, deadline=None)
@given(
    name=st.sampled_from(sorted(FILES)),
    kept=st.floats(0, 1),
    flips=st.lists(st.tuples(st.floats(0, 1) | st.floats(0, 0.1), st.integers(1, 255)), max_size=6),
    zeros=st.integers(0, 50),
)
def test_damaged_files_end_well(
    name: str, kept: float, flips: list[tuple[float, int]], zeros: int
) -> None:
    data = bytearray(FILES[name][: math.ceil(len(FILES[name]) * kept)])
    for place, bits in flips:
        if data:
            data[int(place * (len(data) - 1))] ^= bits
    ends_well(fake.padded(bytes(data), zeros))


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_anywhere_ends_well(name: str) -> None:
    for length in range(min(len(FILES[name]), 2000)):
        ends_well(FILES[name][:length])

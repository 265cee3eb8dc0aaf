"""What a Triton built against numpy 1 reads as the item size must be the item size."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from ensemble.numpy2 import IS_NUMPY_2, patch_strings, readable
from tests.fakes import pb_utils

# PyArray_Descr of numpy 1 on a 64-bit machine: object head 16, type pointer 8, four characters,
# type number 4; then the item size, a C int.
NUMPY_1_ITEM_SIZE_OFFSET = 32


def item_size_as_numpy_1_reads_it(array: np.ndarray) -> int:
    address = id(array.dtype) + NUMPY_1_ITEM_SIZE_OFFSET
    return ctypes.c_int32.from_address(address).value


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "int64", "float16"])
def test_an_old_stub_reads_the_true_item_size(dtype: str) -> None:
    array = np.arange(6).astype(dtype)
    view = readable(array)
    assert item_size_as_numpy_1_reads_it(view) == array.itemsize
    assert view.dtype == array.dtype
    assert view.tobytes() == array.tobytes()


@pytest.mark.skipif(not IS_NUMPY_2, reason="needs numpy 2, where the field moved")
def test_without_it_an_old_stub_reads_something_else() -> None:
    assert item_size_as_numpy_1_reads_it(np.zeros(3, np.float32)) != 4


@pytest.mark.skipif(not IS_NUMPY_2, reason="needs numpy 2, where the field moved")
def test_strings_are_serialised_to_an_array_that_an_old_stub_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pb_utils, "serialize_byte_tensor", pb_utils.serialize_byte_tensor)
    patch_strings(pb_utils)
    patch_strings(pb_utils)
    serialised = pb_utils.serialize_byte_tensor(np.array([b"cat", b""], object))
    assert bytes(serialised) == b"\x03\0\0\0cat\0\0\0\0"
    assert item_size_as_numpy_1_reads_it(serialised) == 1

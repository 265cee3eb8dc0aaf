"""Large weights stay in the file: a model without them is small, and points to where they lie.

ONNX keeps weights beside a model as external data: a file, an offset, a length. Nothing forbids
that the file is the model's own, so the weights of a model need never be read to work on it.

Source: https://protobuf.dev/programming-guides/encoding/ and onnx.proto.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import onnx

from ensemble.errors import ContractMismatch

LARGE_BYTES = 65_536
PIECE_BYTES = 1 << 20
# Fields: of ModelProto, of GraphProto, of TensorProto.
GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9
LENGTH_DELIMITED = 2
FIXED_BYTES = {1: 8, 5: 4}
"""Wire types of one length."""


@dataclass(frozen=True)
class Field:
    """One field as encoded: its number, where it begins, where its value does, where both end."""

    number: int
    start: int
    value: int
    end: int
    has_length: bool


def without_weights(path: Path) -> bytes:
    """The model as encoded, its large initialisers as external data in ``path`` itself.

    Raises:
        OSError: it can't be read.
        ValueError: it is no protobuf, or not all of it.
    """
    with path.open("rb") as file:
        if path.stat().st_size < LARGE_BYTES:
            return file.read()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return b"".join(_model(data, path.name))


def _model(data: mmap.mmap, location: str) -> Iterator[bytes]:
    for field in _fields(data, 0, len(data)):
        if field.number == GRAPH and field.has_length:
            yield _encoded(GRAPH, b"".join(_graph(data, field, location)))
        else:
            yield data[field.start : field.end]


def _graph(data: mmap.mmap, graph: Field, location: str) -> Iterator[bytes]:
    for field in _fields(data, graph.value, graph.end):
        is_large = field.has_length and field.end - field.value >= LARGE_BYTES
        if field.number == INITIALIZER and is_large:
            yield _encoded(INITIALIZER, b"".join(_tensor(data, field, location)))
        else:
            yield data[field.start : field.end]


def _tensor(data: mmap.mmap, tensor: Field, location: str) -> Iterator[bytes]:
    for field in _fields(data, tensor.value, tensor.end):
        length = field.end - field.value
        if field.number != RAW_DATA or not field.has_length or length < LARGE_BYTES:
            yield data[field.start : field.end]
            continue
        moved = onnx.TensorProto(data_location=onnx.TensorProto.EXTERNAL)
        entries = {"location": location, "offset": str(field.value), "length": str(length)}
        for key, value in entries.items():
            moved.external_data.add(key=key, value=value)
        yield moved.SerializeToString()


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[Field]:
    while start < end:
        key, value = _number(data, start, end)
        wire_type = key & 7
        if wire_type == LENGTH_DELIMITED:
            length, value = _number(data, value, end)
            stop = value + length
        elif wire_type in FIXED_BYTES:
            stop = value + FIXED_BYTES[wire_type]
        elif wire_type == 0:
            _, stop = _number(data, value, end)
        else:
            raise ValueError(f"wire type {wire_type}")
        if stop > end:
            raise ValueError("cut short")
        yield Field(key >> 3, start, value, stop, wire_type == LENGTH_DELIMITED)
        start = stop


def _number(data: mmap.mmap, start: int, end: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    number = 0
    for at in range(start, min(end, start + 10)):
        number |= (data[at] & 0x7F) << 7 * (at - start)
        if data[at] < 0x80:
            return number, at + 1
    raise ValueError("cut short")


def is_own(tensor: onnx.TensorProto, path: Path) -> bool:
    """Whether its data lie in the model's own file."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    place = [entries.get(key, "") for key in ("offset", "length")]
    return entries.get("location") == path.name and all(map(str.isdecimal, place))


def save(model: onnx.ModelProto, path: Path, out: Path) -> None:
    """Writes a model that was read without its weights, with them.

    Args:
        model: as read from ``path``, and changed.
        path: where its weights lie.
        out: another file.

    Raises:
        ContractMismatch: ``path`` ends before its weights do.
    """
    rest = onnx.ModelProto()
    rest.CopyFrom(model)
    del rest.graph.initializer[:]
    rest.graph.initializer.extend(t for t in model.graph.initializer if not is_own(t, path))
    large = [_Large.of(t) for t in model.graph.initializer if is_own(t, path)]
    graph = rest.graph.SerializeToString()
    rest.ClearField("graph")
    size = len(graph) + sum(len(one.header) + one.length for one in large)
    with path.open("rb") as weights, out.open("wb") as file:
        file.write(rest.SerializeToString() + _key(GRAPH, size) + graph)
        for one in large:
            file.write(one.header)
            _copy(weights, file, one)


@dataclass(frozen=True)
class _Large:
    """An initialiser: all of it before its data, encoded, and where these lie."""

    header: bytes
    offset: int
    length: int

    @classmethod
    def of(cls, tensor: onnx.TensorProto) -> _Large:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        length = int(entries["length"])
        facts = onnx.TensorProto()
        facts.CopyFrom(tensor)
        facts.ClearField("external_data")
        facts.ClearField("data_location")
        before = facts.SerializeToString() + _key(RAW_DATA, length)
        return cls(_key(INITIALIZER, len(before) + length) + before, int(entries["offset"]), length)


def _copy(source: BinaryIO, target: BinaryIO, one: _Large) -> None:
    source.seek(one.offset)
    left = one.length
    while left:
        piece = source.read(min(left, PIECE_BYTES))
        if not piece:
            raise ContractMismatch(
                f"{source.name}: expected {left} more bytes of weights, got none"
            )
        target.write(piece)
        left -= len(piece)


def _encoded(number: int, value: bytes) -> bytes:
    return _key(number, len(value)) + value


def _key(number: int, length: int) -> bytes:
    return _varint(number << 3 | LENGTH_DELIMITED) + _varint(length)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])

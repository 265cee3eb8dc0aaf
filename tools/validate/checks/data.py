"""Tensors that a configuration brings: those of warm-up requests and of initial states."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

BYTES = {
    "TYPE_BOOL": 1,
    "TYPE_UINT8": 1,
    "TYPE_UINT16": 2,
    "TYPE_UINT32": 4,
    "TYPE_UINT64": 8,
    "TYPE_INT8": 1,
    "TYPE_INT16": 2,
    "TYPE_INT32": 4,
    "TYPE_INT64": 8,
    "TYPE_FP16": 2,
    "TYPE_BF16": 2,
    "TYPE_FP32": 4,
    "TYPE_FP64": 8,
}
"""Of one value, by type."""


def joined(folder: Path, name: str) -> Path:
    """The file that Triton opens: a name that begins with a slash stays inside the folder."""
    return Path(f"{folder}/{name}")


def dims_faults(dims: Sequence[int], wanted: Sequence[int]) -> Iterator[str]:
    """What is wrong with a tensor's whole lengths, where -1 is wanted for any."""
    if min(dims, default=1) < 0:
        yield f"expected whole lengths, got dims {list(dims)}"
    elif len(dims) != len(wanted) or any(
        w not in (-1, d) for d, w in zip(dims, wanted, strict=True)
    ):
        yield f"expected dims {list(wanted)}, got {list(dims)}"


def file_faults(folder: Path, name: str, data_type: str, dims: Sequence[int]) -> Iterator[str]:
    """What is wrong with a tensor's file.

    Args:
        folder: where Triton looks.
        name: as the configuration has it.
        data_type: of the tensor.
        dims: of one tensor, whole.
    """
    path = joined(folder, name)
    if not path.is_file():
        yield f"expected the file {path}, not there"
        return
    values = math.prod(dims) if dims else 0
    if data_type in BYTES:
        expected, got = values * BYTES[data_type], path.stat().st_size
        if got < expected:
            yield f"{name}: expected {expected} bytes, got {got}"
    elif data_type == "TYPE_STRING":
        got = _strings(path.read_bytes())
        if got < values:
            yield f"{name}: expected {values} strings, each after its length, got {got}"


def _strings(data: bytes) -> int:
    """How many whole strings there are, each after its length as 4 bytes, little-endian."""
    count = at = 0
    while at + 4 <= len(data):
        at += 4 + int(struct.unpack_from("<I", data, at)[0])
        count += at <= len(data)
    return count

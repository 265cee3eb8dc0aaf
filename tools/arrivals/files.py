"""Text of files of any size, plain or gzip, read once, with a count for the progress bar."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast

from ensemble.errors import ContractMismatch
from tools.arrivals.stamps import Progress

_GZIP = b"\x1f\x8b"


class _Counted(io.RawIOBase):
    """Tells how much was read."""

    def __init__(self, raw: io.RawIOBase, progress: Progress) -> None:
        self._raw = raw
        self._progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        read = self._raw.readinto(buffer)
        self._progress(read or 0)
        return read


@contextmanager
def opened(path: Path, progress: Progress) -> Iterator[TextIO]:
    """The file's text; what is not UTF-8 in it is replaced.

    Raises:
        ContractMismatch: it begins like gzip and goes on otherwise, or ends too early.
        OSError: it can't be read.
    """
    with path.open("rb", buffering=0) as raw:
        binary = io.BufferedReader(_Counted(raw, progress), 1 << 18)
        packed = binary.peek(2).startswith(_GZIP)
        stream = cast("io.BufferedReader", gzip.GzipFile(fileobj=binary)) if packed else binary
        try:
            yield io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ContractMismatch(f"{path}: expected whole gzip, got {error}") from error

"""Record when requests come: Triton's trace of every request, in pieces, the oldest deleted.

A piece is FILE.<run>.<piece>. A new server would begin at piece 0 again and write over what is
there, so each start of one is a run of its own.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ensemble.errors import ContractMismatch

TRACES_A_PIECE = 100
"""About 230 kB of a three-stage ensemble; what a crash of the server loses."""


class Piece(NamedTuple):
    """One file of a recording; older ones are smaller.

    Attributes:
        run: which server wrote it, from 1.
        number: from 0.
        path: itself.
    """

    run: int
    number: int
    path: Path


@dataclass(frozen=True)
class Recording:
    """Where to record, and how much to keep.

    Attributes:
        file: absolute; the beginning of every piece's name.
        max_bytes: of all pieces together; the newest always stays.
    """

    file: Path
    max_bytes: int

    def check(self, extra: Sequence[str]) -> None:
        """Whether it can work.

        Args:
            extra: further flags that Triton is given.

        Raises:
            ContractMismatch: no file can be written there, or the flags trace to somewhere else.
        """
        wanted = (
            f"--record-arrivals {self.file}: expected a file in a folder that can be written to"
        )
        if self.file.is_dir():
            raise ContractMismatch(wanted)
        try:
            with tempfile.TemporaryFile(dir=self.file.parent):
                pass
        except OSError as error:
            raise ContractMismatch(f"{wanted}, got {error.strerror}") from error
        if any(flag.startswith("--trace") for flag in extra):
            raise ContractMismatch(
                "expected --record-arrivals or Triton's --trace-config, got both"
            )

    def flags(self) -> list[str]:
        """For a server that is about to start; ``count=-1`` has no end. Source: Triton's trace."""
        run = 1 + max((piece.run for piece in self.pieces()), default=0)
        settings = (
            f"triton,file={self.file}.{run}",
            f"triton,log-frequency={TRACES_A_PIECE}",
            "level=TIMESTAMPS",
            "rate=1",
            "count=-1",
        )
        return [f"--trace-config={setting}" for setting in settings]

    def pieces(self) -> list[Piece]:
        """What was recorded, oldest first; none where the folder is gone."""
        name = re.compile(re.escape(self.file.name) + r"\.(\d+)\.(\d+)")
        folder = self.file.parent
        paths = folder.iterdir() if folder.is_dir() else ()
        found = ((path, name.fullmatch(path.name)) for path in paths)
        return sorted(Piece(int(m[1]), int(m[2]), path) for path, m in found if m)

    def limit(self) -> None:
        """Delete the oldest pieces until what is left is small enough."""
        with suppress(FileNotFoundError):  # somebody else deletes too: the next time, then
            pieces = self.pieces()
            sizes = [piece.path.stat().st_size for piece in pieces]
            excess = sum(sizes) - self.max_bytes
            for piece, size in zip(pieces[:-1], sizes[:-1], strict=True):
                if excess <= 0:
                    return
                piece.path.unlink()
                excess -= size

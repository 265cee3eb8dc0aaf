"""From the arguments of a command to images: files, folders, and ``-`` for standard input.

Finding lists names only; bytes are read one image at a time, when it is that image's turn.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

STANDARD_INPUT = "-"
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"})


@dataclass(frozen=True)
class Source:
    """One image, not yet read.

    Attributes:
        name: how the user would call it: the path as given, with what was found below it.
        problem: why there is nothing to read; None when there is.
    """

    name: str
    problem: OSError | None = None

    def read(self, most_bytes: int = -1) -> bytes:
        """The encoded image.

        Args:
            most_bytes: what lies beyond is not read; -1: all is.

        Raises:
            OSError: there is none, or it can't be read.
        """
        if self.problem is not None:
            raise self.problem
        if self.name == STANDARD_INPUT:
            return sys.stdin.buffer.read(most_bytes)
        with Path(self.name).open("rb") as file:
            return file.read(most_bytes)


def find(arguments: Iterable[str]) -> list[Source]:
    """What the arguments stand for, in their order; inside a folder, sorted by path.

    A file that is named is taken whatever it is called. In a folder, and all folders below it,
    only regular files with the suffix of an image count. What is missing, and a folder without
    images, comes back as a ``Source`` with a problem.
    """
    return [source for argument in arguments for source in _expand(argument)]


def images(sources: Iterable[Source]) -> Iterator[tuple[str, bytes | OSError]]:
    """Each name with its bytes, or with the reason why there are none. Read lazily, in order."""
    for source in sources:
        try:
            yield source.name, source.read()
        except OSError as error:
            yield source.name, error


def _expand(argument: str) -> list[Source]:
    if argument == STANDARD_INPUT:
        return [Source(argument)]
    try:
        is_folder = stat.S_ISDIR(os.stat(argument).st_mode)
    except OSError as error:
        return [Source(argument, error)]
    if not is_folder:
        return [Source(argument)]
    found = list(_walk(argument))
    return found or [Source(argument, FileNotFoundError("no images in this folder"))]


def _walk(folder: str) -> Iterator[Source]:
    """Images below a folder; what can't be listed is a source with that problem."""
    unlisted: list[Source] = []
    paths = [
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder, onerror=lambda e: unlisted.append(_unlisted(e)))
        for name in names
        if Path(name).suffix.lower() in SUFFIXES
    ]
    files = (Source(path) for path in paths if os.path.isfile(path))
    yield from sorted((*files, *unlisted), key=lambda source: Path(source.name).parts)


def _unlisted(error: OSError) -> Source:
    return Source(str(error.filename), error)

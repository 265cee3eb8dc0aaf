"""What a terminal, or whatever is in its place, may be given, and what is done when it is gone."""

from __future__ import annotations

import os
from typing import TextIO


def printable(text: str, encoding: str | None) -> str:
    r"""One line: what a terminal can't show, or would obey, as ``\x..``."""
    shown = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
    return shown.encode(encoding or "utf-8", "backslashreplace").decode(encoding or "utf-8")


def plain(text: str) -> str:
    """One line: a question mark for each letter that it would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def discard(*streams: TextIO) -> None:
    """Send what is still buffered nowhere, or Python complains about the pipe when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):
            continue  # not a file of the system
    os.close(nowhere)

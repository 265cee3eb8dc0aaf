"""Text that came from elsewhere, as a terminal may be shown it: nothing that it would obey."""

from __future__ import annotations


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

"""A file of class names as people have them, to the plain one that is served."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from ensemble.errors import ContractMismatch
from postprocess.labels import stripped

_BREAKS = ("Cc", "Zl", "Zp")
"""Unicode's control characters, line and paragraph separators."""


def read_labels(path: Path, classes: int) -> tuple[str, ...]:
    """One name a class, line i for class i.

    A byte-order mark, carriage returns, blanks around a name and blank lines at the end go.

    Raises:
        ContractMismatch: not UTF-8, a blank line among the names, a tab or another control
            character in one, or not one name a class.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ContractMismatch(f"{path}: expected a file of labels: {error.strerror}") from error
    except UnicodeDecodeError as error:
        row = error.object[: error.start].count(b"\n") + 1
        raise ContractMismatch(f"{path}:{row}: expected UTF-8, got {error.reason}") from error
    lines = [stripped(line) for line in text.rstrip().split("\n")]
    for number, line in enumerate(lines, 1):
        _check_line(f"{path}:{number}", line)
    if len(lines) != classes:
        background = len(lines) + 1 == classes and classes % 1000 == 1
        hint = "; class 0 may be `background`, which TensorFlow's models add" if background else ""
        raise ContractMismatch(
            f"{path}: the model has {classes} classes, expected as many labels, "
            f"got {len(lines)}{hint}"
        )
    return tuple(lines)


def _check_line(where: str, line: str) -> None:
    if not line:
        raise ContractMismatch(f"{where}: expected a class name, got a blank line")
    for letter in line:
        if unicodedata.category(letter) in _BREAKS:
            what = "a tab: leave only the column of names" if letter == "\t" else repr(letter)
            raise ContractMismatch(f"{where}: expected a class name alone, got {what}")


def repeated(labels: tuple[str, ...]) -> Iterator[str]:
    """One line for each name that several classes share; only CLASS_ID tells them apart."""
    numbers: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        numbers.setdefault(label, []).append(number)
    for label, several in numbers.items():
        if len(several) > 1:
            yield f"the classes {', '.join(map(str, several))} are all labelled {label!r}"

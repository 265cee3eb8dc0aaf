"""The class names, one a line, line i for class i."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np

from ensemble.errors import ContractMismatch


def stripped(line: str) -> str:
    """The name on a line without the blanks around it, of any kind; empty if none of it shows.

    What shows is not a separator, a control or a format character of Unicode.
    """
    name = line.strip()
    shows = any(unicodedata.category(letter) not in _UNSEEN for letter in name)
    return name if shows else ""


_UNSEEN = ("Zs", "Zl", "Zp", "Cc", "Cf")


def load_labels(path: Path, classes: int) -> np.ndarray[Any, Any]:
    """Names as UTF-8 bytes, (classes,) object, ready for a STRING tensor.

    Raises:
        ContractMismatch: not UTF-8, a blank line, or not one name a class.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ContractMismatch(f"{path}: expected UTF-8 text, one name a line: {error}") from error
    blank = next((number for number, line in enumerate(lines, 1) if not stripped(line)), None)
    if blank is not None:
        raise ContractMismatch(f"{path}:{blank}: blank line where a class name was expected")
    if len(lines) != classes:
        raise ContractMismatch(f"{path}: expected {classes} names, got {len(lines)}")
    return np.array([stripped(line).encode() for line in lines], dtype=object)

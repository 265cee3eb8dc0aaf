"""The class names, one a line, line i for class i."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ensemble.errors import ContractMismatch


def load_labels(path: Path, classes: int) -> np.ndarray[Any, Any]:
    """Names as UTF-8 bytes, (classes,) object, ready for a STRING tensor.

    Raises:
        ContractMismatch: not UTF-8, a blank line, or not one name a class.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ContractMismatch(f"{path}: expected UTF-8 text, one name a line: {error}") from error
    blank = next((number for number, line in enumerate(lines, 1) if not line.strip()), None)
    if blank is not None:
        raise ContractMismatch(f"{path}:{blank}: blank line where a class name was expected")
    if len(lines) != classes:
        raise ContractMismatch(f"{path}: expected {classes} names, got {len(lines)}")
    return np.array([line.strip().encode() for line in lines], dtype=object)

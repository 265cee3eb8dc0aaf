"""JSON files of our own formats: there whole or not at all, and refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ensemble.errors import ContractMismatch


@contextmanager
def whole(path: Path) -> Iterator[TextIO]:
    """A text file to write, which is there under its name once all of it is written.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_of(path)
    with partial.open("w", encoding="utf-8") as file:
        yield file
    partial.replace(path)


def partial_of(path: Path) -> Path:
    """Where a file is until it is whole."""
    return path.with_name(path.name + ".part")


def read_fields(path: Path, kind: str, form: str, version: int) -> dict[str, Any]:
    """What a file of one format holds.

    Args:
        path: of the file.
        kind: what it should hold, for the reason.
        form: its ``format``.
        version: its ``version``.

    Raises:
        ContractMismatch: it is no JSON, or of another format or version.
        OSError: it can't be read.
    """
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ContractMismatch(f"{path}: expected {kind} in JSON, got {error!s:.120}") from error
    found = (fields.get("format"), fields.get("version")) if isinstance(fields, dict) else None
    if found != (form, version):
        raise ContractMismatch(f"{path}: expected {form} version {version}, got {found!s:.80}")
    return dict(fields)

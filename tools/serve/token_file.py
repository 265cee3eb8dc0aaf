"""The word that the management APIs ask for."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from ensemble.errors import ContractMismatch

_TOKEN = re.compile(r"[!-~]{8,}")


def token_of(path: Path) -> str:
    """What the file holds; it is made, for its owner alone, if it is not there.

    Raises:
        ContractMismatch: it can't be read or made, or holds no usable word.
    """
    try:
        if path.exists():
            token = path.read_text(encoding="utf-8").strip()
        else:
            token = secrets.token_urlsafe(24)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(token + "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ContractMismatch(f"--token-file {path}: {error}") from error
    if not _TOKEN.fullmatch(token):  # an empty one would be no lock, and Triton takes no blanks
        raise ContractMismatch(
            f"--token-file {path}: expected one word of at least 8 printable ASCII characters; "
            "remove the file to have one made"
        )
    return token

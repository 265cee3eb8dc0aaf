"""Where the program is, and which version."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from ensemble.errors import ContractMismatch
from tools.export import ROOT

NAME = "perf_analyzer"
FOLDER = ROOT / ".tandem" / "perf-analyzer"
"""Where ``make perf-analyzer`` puts it."""
TIMEOUT_S = 30.0


def program() -> Path:
    """The one that ``make perf-analyzer`` got, else the one on the PATH.

    Raises:
        ContractMismatch: there is none.
    """
    own = FOLDER / NAME
    found = str(own) if own.exists() else shutil.which(NAME)
    if found is None:
        raise ContractMismatch(
            f"{NAME}: expected it at {own} or on the PATH, got none; run 'make perf-analyzer'"
        )
    return Path(found)


def version_of(path: Path) -> str:
    """Such as ``2.48.0``.

    Raises:
        ContractMismatch: it does not start, or is something else.
    """
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ContractMismatch(f"{path} --version: {error}") from error
    said = (done.stdout + done.stderr).strip()  # the older one says it on stderr, and exits with 99
    found = re.search(r"Version (\d+\.\d+\.\d+)", said)
    if found is None:
        raise ContractMismatch(f"{path} --version: expected a version, got {said[:200]!r}")
    return found[1]

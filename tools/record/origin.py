"""Where a record comes from: the machine, the versions, the commit; no host name, no path."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from tools.export import ROOT

PACKAGES = ("nvidia-pytriton", "nvidia-dali-cuda120", "onnxruntime", "numpy", "grpcio")


def origin() -> dict[str, Any]:
    """The machine, the versions and the commit; None is not known."""
    changed = _git("status", "--porcelain")
    return {
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "cpu": _cpu_model(),
            "load_average": [round(value, 2) for value in os.getloadavg()],
            "niceness": os.getpriority(os.PRIO_PROCESS, 0),
        },
        "system": _system(),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "commit": _git("rev-parse", "HEAD") or "unknown",
        "changed_files": None if changed is None else len(changed.splitlines()),
    }


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.platform()


def _version(package: str) -> str | None:
    """None where it is not installed, as the serving image lacks some."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _git(*arguments: str) -> str | None:
    """What git says; None without git, and outside a repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None

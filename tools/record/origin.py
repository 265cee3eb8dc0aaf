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
    """The machine, the versions and the commit."""
    return {
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "cpu": _cpu_model(),
            "load_average": [round(value, 2) for value in os.getloadavg()],
            "niceness": os.getpriority(os.PRIO_PROCESS, 0),
        },
        "system": platform.freedesktop_os_release()["PRETTY_NAME"],
        "python": platform.python_version(),
        "versions": {package: metadata.version(package) for package in PACKAGES},
        "commit": _git("rev-parse", "HEAD"),
        "changed_files": len(_git("status", "--porcelain").splitlines()),
    }


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"

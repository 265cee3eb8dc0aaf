"""What this process takes, and how much of a batch still fits."""

from __future__ import annotations

import contextlib
import ctypes
import resource
from collections.abc import Callable
from pathlib import Path

ALLOWED_BASE_BYTES = 300_000_000
ALLOWED_PER_MODEL = 3
SPARE_BYTES = 25_000_000
"""For what the measured batches did not show."""
# Beyond what is allowed: a model that asks for this much is stopped before the machine suffers.
ADDRESS_SPACE_MARGIN_BYTES = 4_000_000_000

PAGE_BYTES = resource.getpagesize()


def resident_bytes() -> int:
    """Of this process, without what was freed. Source: proc(5), statm; malloc_trim(3)."""
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


def allowed_bytes(model_bytes: int, base_bytes: int = ALLOWED_BASE_BYTES) -> int:
    """The most that the check of a model may take: thrice the model, and so much more."""
    return ALLOWED_PER_MODEL * model_bytes + base_bytes


def limit_address_space(folder: Path, base_bytes: int) -> None:
    """From here on an allocation far beyond what a model needs fails, instead of the machine.

    Args:
        folder: of the model and its external data.
        base_bytes: what is allowed besides thrice the model.
    """
    model_bytes = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    now = int(Path("/proc/self/statm").read_text().split()[0]) * PAGE_BYTES
    most = now + allowed_bytes(model_bytes, base_bytes) + ADDRESS_SPACE_MARGIN_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def growth_bytes(run: Callable[[], object]) -> int:
    """How far memory rises above now while something runs.

    Where the kernel does not let the high-water mark be put back, an earlier peak counts too: the
    answer is then too large, never too small.
    """
    before = resident_bytes()
    with contextlib.suppress(OSError):
        # Source: proc(5), clear_refs: 5 resets the high-water mark.
        Path("/proc/self/clear_refs").write_text("5")
    run()
    return max(0, _high_water_bytes() - before)


def _high_water_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

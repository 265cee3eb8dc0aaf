"""What Triton's metrics say of the GPUs that it sees."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ensemble.errors import ServingError
from tools.statistics.http import ask
from tools.statistics.snapshot import values_of

TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Gpus:
    """All GPUs at one moment.

    Attributes:
        utilisation: 0 to 1, mean over GPUs.
        memory_bytes: in use, of all GPUs.
    """

    utilisation: float
    memory_bytes: int


def read_gpus(url: str) -> Gpus | None:
    """From the metrics at ``url``; None where they tell of no GPU."""
    try:
        answer = ask(url, timeout_s=TIMEOUT_S)
    except ServingError:
        return None
    return gpus_of(answer.body.decode(errors="replace"))


def gpus_of(text: str) -> Gpus | None:
    """From Prometheus' text. Source: Triton's metrics, GPU family."""
    loads = [one for one in values_of(text, "nv_gpu_utilization") if math.isfinite(one)]
    used = [one for one in values_of(text, "nv_gpu_memory_used_bytes") if math.isfinite(one)]
    return Gpus(sum(loads) / len(loads), int(sum(used))) if loads and used else None

"""CPU, memory and GPU of one target during one cell."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from tools.bench.targets import Endpoint
from tools.record.record import Resources
from tools.statistics.gpu import Gpus, read_gpus

GPU_EVERY_S = 0.5


@dataclass(frozen=True)
class Usage:
    """Of a server and its stubs at one moment.

    Attributes:
        cpu_s: user and system time so far, by process.
        resident_bytes: of all of them; what they share counts for each.
    """

    cpu_s: dict[int, float]
    resident_bytes: int

    def cpu_s_since(self, earlier: Usage) -> float | None:
        """CPU time that was added; None when other processes were there than before."""
        if self.cpu_s.keys() != earlier.cpu_s.keys():
            return None
        return sum(self.cpu_s.values()) - sum(earlier.cpu_s.values())


def usage_of(pid: int) -> Usage | None:
    """What a server has used; None when it is gone."""
    cpu_s, resident_bytes = {}, 0
    try:
        server = psutil.Process(pid)
        for process in (server, *server.children(recursive=True)):
            with process.oneshot():
                times = process.cpu_times()
                cpu_s[process.pid] = float(times.user + times.system)
                resident_bytes += process.memory_info().rss
    except psutil.Error:
        return None
    return Usage(cpu_s, resident_bytes)


class Meter:
    """Measures from when it is made until ``stop``.

    Args:
        endpoint: whose process, if it is ours, and whose GPUs, if it tells of any.
        now_s: the clock.
    """

    def __init__(self, endpoint: Endpoint, now_s: Callable[[], float] = time.monotonic) -> None:
        self._endpoint = endpoint
        self._now_s = now_s
        self._gpus: list[Gpus] = []
        self._next_s = now_s()
        self._has_gpu = True
        self.tick()
        self._before = self._usage()

    def tick(self) -> None:
        """Look at the GPUs now and then; called often while the cell runs."""
        url = self._endpoint.metrics_url
        if url is None or not self._has_gpu or self._now_s() < self._next_s:
            return
        self._next_s = self._now_s() + GPU_EVERY_S
        self._gpus += filter(None, [read_gpus(url)])
        self._has_gpu = bool(self._gpus)

    def stop(self, generator_cpu_s: float | None) -> Resources:
        """What was used since; the first look at the GPUs was before the cell and is left out."""
        after, before, gpus = self._usage(), self._before, self._gpus[1:]
        return Resources(
            server_cpu_s=after.cpu_s_since(before) if after and before else None,
            generator_cpu_s=generator_cpu_s,
            resident_bytes=after.resident_bytes if after else None,
            gpu_utilisation=sum(one.utilisation for one in gpus) / len(gpus) if gpus else None,
            gpu_memory_bytes=gpus[-1].memory_bytes if gpus else None,
        )

    def _usage(self) -> Usage | None:
        process = self._endpoint.process
        return None if process is None else usage_of(process.pid)

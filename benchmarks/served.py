"""The same images through the real server, at the same time measured from outside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil

from benchmarks.inprocess import Speed
from tools.load.generator import Generator
from tools.load.loads import ClosedLoop, RequestClass, Run
from tools.load.photographs import photographs

WARM_UP_S = 2.0
AFTER_S = 0.5
"""The load goes on for so long, so that the second look at the server sees it busy."""


def measure(
    address: str,
    server: psutil.Process,
    clients: int,
    duration_s: float,
    images: Sequence[bytes] | None = None,
) -> Speed:
    """Closed-loop callers, each of whom sends the next image when it has its answer.

    Args:
        address: host and port of gRPC.
        server: the ``tritonserver``; its stubs are counted with it.
        clients: callers, of one process that share a connection.
        duration_s: of the measurement, after a warm-up.
        images: encoded; None: the usual photographs.
    """
    looks_s = (WARM_UP_S, WARM_UP_S + duration_s)
    mix = (RequestClass(images or photographs(), source=Path("samples")),)
    load = ClosedLoop(clients)
    run = Run("grpc", address, "ensemble", load, looks_s[-1] + AFTER_S, mix)
    seen: list[tuple[float, float]] = []

    def look(passed_s: float) -> None:
        if len(seen) < len(looks_s) and passed_s >= looks_s[len(seen)]:
            seen.append((passed_s, _cpu_s(server)))

    with Generator() as generator:
        samples = generator.run(run, look).samples
    (start_s, cpu_s), (end_s, cpu_after_s) = seen
    done_s = samples.due_s + samples.latency_s
    inside = samples.served & (done_s >= start_s) & (done_s < end_s)
    answers = int(inside.sum())
    latency_ms = 1e3 * float(np.median(samples.latency_s[inside]))
    return Speed(answers / (end_s - start_s), 1e3 * (cpu_after_s - cpu_s) / answers, latency_ms)


def _cpu_s(server: psutil.Process) -> float:
    """User and system time of the server and its stubs so far."""
    times = [p.cpu_times() for p in (server, *server.children(recursive=True))]
    return float(sum(t.user + t.system for t in times))


def resident_bytes(server: psutil.Process) -> dict[str, int]:
    """Memory of the server and of each stub, without what they share with other files."""
    sizes = {}
    for process in (server, *server.children(recursive=True)):
        words = process.cmdline()
        name = words[-2] if words[0].endswith("_stub") else Path(words[0]).name
        sizes[name] = int(process.memory_info().rss)
    return sizes

"""One cell: so many callers against one server for a few seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.running import Server
from tools.load.generated import Generated
from tools.load.generator import Generator
from tools.load.loads import ClosedLoop, RequestClass, Run
from tools.record.samples import Floats

TIMEOUT_S = 30.0
RAMP_S = 0.7
"""Answers of the first moments do not count: the callers have all begun together."""


@dataclass(frozen=True)
class Cell:
    """What one measurement gave; None is not measured, never 0.

    Attributes:
        callers: that each send the next photograph when they have their answer.
        images_per_s: answers within the window over its length.
        p50_ms: latency of those answers.
        p95_ms: the same.
        p99_ms: the same.
        server_cpu_ms: an image, user and system time of all of the server's processes.
        client_cpu_ms: an image, of the load generator.
        errors: by cause; those of the ramp count too.
        unused: why the cell does not count.
    """

    callers: int
    images_per_s: float
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    server_cpu_ms: float | None
    client_cpu_ms: float | None
    errors: dict[str, int]
    unused: str | None = None


def measure(
    generator: Generator,
    server: Server,
    photographs: Sequence[bytes],
    callers: int,
    window_s: float,
) -> Cell:
    """A closed loop.

    Args:
        generator: a running one.
        server: thawed.
        photographs: sent in random order, the same for every server.
        callers: at the same time.
        window_s: that counts, after the ramp.
    """
    run = Run(
        protocol=server.peer.protocol,
        address=server.address,
        model=server.peer.model,
        loop=ClosedLoop(callers),
        duration_s=RAMP_S + window_s,
        mix=(RequestClass(photographs),),
        timeout_s=TIMEOUT_S,
    )
    before_s = server.cpu_s()
    generated = generator.run(run)
    if generated.interrupted:
        raise KeyboardInterrupt
    return cell(generated, callers, window_s, server.cpu_s() - before_s)


def cell(generated: Generated, callers: int, window_s: float, server_cpu_s: float) -> Cell:
    """From what the generator and the server's processes say.

    CPU time is that of the whole run over all its answers; throughput and latency are of the
    answers that came within the window.
    """
    samples = generated.samples
    done_s = samples.due_s + samples.latency_s
    counted = samples.served & (done_s >= RAMP_S) & (done_s < RAMP_S + window_s)
    p50_ms, p95_ms, p99_ms = _quantiles(1e3 * samples.latency_s[counted])
    errors, served = samples.errors(), int(samples.served.sum())
    return Cell(
        callers,
        round(float(counted.sum()) / window_s, 2),
        p50_ms,
        p95_ms,
        p99_ms,
        server_cpu_ms=_each_ms(server_cpu_s, served),
        client_cpu_ms=_each_ms(generated.cpu_s, served),
        errors=errors,
        unused=generated.late or (f"errors: {errors}" if errors else None),
    )


def _quantiles(latency_ms: Floats) -> list[float | None]:
    if not len(latency_ms):
        return [None, None, None]
    found = np.percentile(latency_ms, (50, 95, 99))
    return [round(float(one), 2) for one in found]


def _each_ms(total_s: float, count: int) -> float | None:
    return round(1e3 * total_s / count, 3) if count else None

"""The limit: the same decoder and ONNX Runtime session in plain processes, no server.

Each process runs the whole chain on batches of its own, so nothing is handed over and nothing
waits. How many processes, threads and images a batch is best is found by trying.
"""

from __future__ import annotations

import multiprocessing as mp
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tools.load.photographs import photographs


@dataclass(frozen=True)
class Arrangement:
    """How the chain is spread over the cores.

    Attributes:
        processes: that run at the same time.
        threads: of DALI and of ONNX Runtime, in each.
        batch_size: images of one run.
        decoder: ``dali``, as the server has it, or ``opencv``, as its peers do.
    """

    processes: int
    threads: int
    batch_size: int
    decoder: str = "dali"


@dataclass(frozen=True)
class Speed:
    """What one measurement gave.

    Attributes:
        images_per_s: of all processes together.
        cpu_ms_per_image: user and system time of all processes.
        latency_ms: median of one batch in one process.
    """

    images_per_s: float
    cpu_ms_per_image: float
    latency_ms: float


@dataclass(frozen=True)
class _Task:
    """What each process does."""

    arrangement: Arrangement
    onnx: Path
    duration_s: float
    images: Sequence[bytes]


def measure(
    arrangement: Arrangement,
    onnx: Path,
    duration_s: float,
    images: Sequence[bytes] | None = None,
) -> Speed:
    """Run an arrangement for a while.

    Args:
        arrangement: to run.
        onnx: the classifier.
        duration_s: of the measurement, after a warm-up.
        images: encoded; None: the usual photographs.
    """
    context = mp.get_context("spawn")
    results: Any = context.Queue()
    barrier = context.Barrier(arrangement.processes)
    task = _Task(arrangement, onnx, duration_s, photographs() if images is None else images)
    arguments = (task, barrier, results)
    workers = [
        context.Process(target=_work, args=arguments, daemon=True)
        for _ in range(arrangement.processes)
    ]
    for worker in workers:
        worker.start()
    rows = [results.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    count, wall_s, cpu_s, latency_s = (np.array(column) for column in zip(*rows, strict=True))
    return Speed(
        float((count / wall_s).sum()),
        float(1e3 * cpu_s.sum() / count.sum()),
        float(1e3 * np.median(latency_s)),
    )


def _work(task: _Task, barrier: Any, results: Any) -> None:
    size, images = task.arrangement.batch_size, task.images
    chain = {"dali": _dali, "opencv": _opencv}[task.arrangement.decoder](task)

    def run(number: int) -> None:
        chain([images[(number * size + n) % len(images)] for n in range(size)])

    for number in range(8):
        run(number)
    barrier.wait()
    start_s, cpu_s = time.perf_counter(), time.process_time()
    latencies_s: list[float] = []
    while (begin_s := time.perf_counter()) - start_s < task.duration_s:
        run(len(latencies_s))
        latencies_s.append(time.perf_counter() - begin_s)
    results.put(
        (
            len(latencies_s) * size,
            time.perf_counter() - start_s,
            time.process_time() - cpu_s,
            float(np.median(latencies_s)),
        )
    )


def _dali(task: _Task) -> Callable[[Sequence[bytes]], object]:
    from classifier.session import open_session
    from ensemble.transform import Transform
    from preprocess.graph import build_pipeline

    size, threads = task.arrangement.batch_size, task.arrangement.threads
    pipeline = build_pipeline(Transform(), size, threads, None)
    session = open_session(task.onnx, threads)

    def run(images: Sequence[bytes]) -> object:
        pipeline.feed_input("IMAGE", [np.frombuffer(encoded, np.uint8) for encoded in images])
        return session.run(None, {"PIXELS": np.asarray(pipeline.run()[0].as_tensor())})

    return run


def _opencv(task: _Task) -> Callable[[Sequence[bytes]], object]:
    from benchmarks.peers.chain import Chain

    return Chain(task.arrangement.threads)

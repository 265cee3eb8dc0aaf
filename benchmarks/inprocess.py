"""The limit: the same DALI graph and ONNX Runtime session in plain processes, no server.

Each process runs the whole chain on batches of its own, so nothing is handed over and nothing
waits. How many processes, threads and images a batch is best is found by trying.
"""

from __future__ import annotations

import multiprocessing as mp
import time
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
    """

    processes: int
    threads: int
    batch_size: int


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


def measure(arrangement: Arrangement, onnx: Path, duration_s: float) -> Speed:
    """Run an arrangement for a while.

    Args:
        arrangement: to run.
        onnx: the classifier.
        duration_s: of the measurement, after a warm-up.
    """
    context = mp.get_context("spawn")
    results: Any = context.Queue()
    barrier = context.Barrier(arrangement.processes)
    arguments = (arrangement, onnx, duration_s, barrier, results)
    workers = [
        context.Process(target=_work, args=arguments, daemon=True)
        for _ in range(arrangement.processes)
    ]
    for worker in workers:
        worker.start()
    rows = [results.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    images, wall_s, cpu_s, latency_s = (np.array(column) for column in zip(*rows, strict=True))
    return Speed(
        float((images / wall_s).sum()),
        float(1e3 * cpu_s.sum() / images.sum()),
        float(1e3 * np.median(latency_s)),
    )


def _work(
    arrangement: Arrangement, onnx: Path, duration_s: float, barrier: Any, results: Any
) -> None:
    from classifier.session import open_session
    from ensemble.transform import Transform
    from preprocess.graph import build_pipeline

    size, threads = arrangement.batch_size, arrangement.threads
    pipeline = build_pipeline(Transform(), size, threads, None)
    session = open_session(onnx, threads)
    pool = [np.frombuffer(encoded, np.uint8) for encoded in photographs()]

    def run(number: int) -> None:
        batch = [pool[(number * size + n) % len(pool)] for n in range(size)]
        pipeline.feed_input("IMAGE", batch)
        session.run(None, {"PIXELS": np.asarray(pipeline.run()[0].as_tensor())})

    for number in range(8):
        run(number)
    barrier.wait()
    start_s, cpu_s = time.perf_counter(), time.process_time()
    latencies_s: list[float] = []
    while (begin_s := time.perf_counter()) - start_s < duration_s:
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

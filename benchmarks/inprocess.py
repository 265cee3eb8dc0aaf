"""The limit: the served stages themselves in plain processes, no server.

Each process runs the whole chain on batches of its own, so nothing is handed over and nothing
waits. How many processes, threads and images a batch is best is found by trying.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ensemble.model_config import Deployment, configurations
from tools.export import COMMITTED
from tools.load.photographs import photographs
from tools.serve.installation import stub_environment


@dataclass(frozen=True)
class Arrangement:
    """How the chain is spread over the cores.

    Attributes:
        processes: that run at the same time.
        threads: of ONNX Runtime, in each.
        batch_size: images of one run.
        decoder: ``served``, the stages of the server, or ``opencv``, as its peers do.
    """

    processes: int
    threads: int
    batch_size: int
    decoder: str = "served"


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
    os.environ.update(stub_environment())
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
    chain = {"served": _served, "opencv": _opencv}[task.arrangement.decoder](task)

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


def _stages(task: _Task) -> list[Callable[[list[Any]], Any]]:
    """Those of ``tandem serve`` for the CPU, as its ``model.py`` files build them."""
    from classifier.session import BatchSession
    from postprocess.answer import Answerer
    from postprocess.labels import load_labels
    from preprocess.decode import Preprocessor
    from preprocess.guard import Limits

    served = Deployment(target="cpu")
    config = configurations(served)["classifier"]
    labels = load_labels(COMMITTED / "postprocess" / "1" / "labels.txt", served.classes)
    return [
        Preprocessor(served.transform, Limits(), task.arrangement.batch_size, as_levels=True),
        BatchSession(task.onnx, config, task.arrangement.threads, served.transform),
        Answerer(labels, served.top_k),
    ]


def _served(task: _Task) -> Callable[[Sequence[bytes]], object]:
    stages = _stages(task)

    def run(images: Sequence[bytes]) -> object:
        given: list[Any] = [np.frombuffer(encoded, np.uint8)[None] for encoded in images]
        for stage in stages:
            given = [next(iter(outputs.values())) for outputs in stage(given)]
        return given

    return run


def _opencv(task: _Task) -> Callable[[Sequence[bytes]], object]:
    from benchmarks.peers.chain import Chain

    return Chain(task.arrangement.threads)

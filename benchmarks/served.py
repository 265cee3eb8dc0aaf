"""The same images through the real server, at the same time measured from outside."""

from __future__ import annotations

import multiprocessing as mp
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import psutil
from tritonclient.grpc import service_pb2

from benchmarks.inprocess import Speed
from benchmarks.photographs import photographs

INFER = "/inference.GRPCInferenceService/ModelInfer"
WARM_UP_S = 2.0


def encoded_request(image: bytes) -> bytes:
    """One image as a gRPC message, encoded once and sent often."""
    request = service_pb2.ModelInferRequest(model_name="ensemble")
    request.inputs.add(name="IMAGE", datatype="UINT8", shape=[1, len(image)])
    request.raw_input_contents.append(image)
    return bytes(request.SerializeToString())


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
        clients: callers, threads of one process that share a connection.
        duration_s: of the measurement, after a warm-up.
        images: encoded; None: the usual photographs.
    """
    with _load(address, clients, photographs() if images is None else images) as counter:
        time.sleep(WARM_UP_S)
        cpu_s, (done, _) = _cpu_s(server), counter()
        start_s = time.perf_counter()
        time.sleep(duration_s)
        wall_s = time.perf_counter() - start_s
        cpu_s, (done_after, latencies_s) = _cpu_s(server) - cpu_s, counter()
    answers = done_after - done
    return Speed(answers / wall_s, 1e3 * cpu_s / answers, 1e3 * float(np.median(latencies_s)))


def _cpu_s(server: psutil.Process) -> float:
    """User and system time of the server and its stubs so far."""
    times = [p.cpu_times() for p in (server, *server.children(recursive=True))]
    return float(sum(t.user + t.system for t in times))


@contextmanager
def _load(address: str, clients: int, images: Sequence[bytes]) -> Iterator[Any]:
    """Callers in a process of their own; yields a function: answers so far, last latencies."""
    context = mp.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_callers, args=(address, clients, images, there), daemon=True)
    process.start()
    here.recv()

    def counter() -> tuple[int, list[float]]:
        here.send("count")
        reply: tuple[int, list[float]] = here.recv()
        return reply

    try:
        yield counter
    finally:
        process.terminate()
        process.join()


def _callers(address: str, clients: int, images: Sequence[bytes], pipe: Any) -> None:
    requests = [encoded_request(image) for image in images]
    latencies_s: list[float] = []
    infer = grpc.insecure_channel(address).unary_unary(INFER)

    def call(number: int) -> None:
        while True:
            start_s = time.perf_counter()
            infer(requests[number % len(requests)])
            latencies_s.append(time.perf_counter() - start_s)
            number += 1

    for number in range(clients):
        threading.Thread(target=call, args=(number,), daemon=True).start()
    pipe.send("started")
    while pipe.recv():
        pipe.send((len(latencies_s), latencies_s[-1000:]))


def resident_bytes(server: psutil.Process) -> dict[str, int]:
    """Memory of the server and of each stub, without what they share with other files."""
    sizes = {}
    for process in (server, *server.children(recursive=True)):
        words = process.cmdline()
        name = words[-2] if words[0].endswith("_stub") else Path(words[0]).name
        sizes[name] = int(process.memory_info().rss)
    return sizes

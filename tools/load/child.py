"""The process that sends: it takes runs from a pipe, one after the other.

It is a process of its own so that nothing else holds Python's lock when a request is due.
"""

from __future__ import annotations

import gc
import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from time import monotonic, process_time
from typing import Any

from ensemble.errors import BackendFailure, ServingError
from tools.load.generated import Generated
from tools.load.loads import OpenLoop, Run

STOP = "stop"
DRAWS = 1 << 16
"""Of class and image in a closed loop; then they repeat."""
GRPC_EXPERIMENTS = "-event_engine_client"
"""The thread that waits for answers then reads the socket itself, which saves three of four thread
switches of a request and a fifth of its CPU time."""


@dataclass(frozen=True)
class Order:
    """A run, without the images.

    Attributes:
        run: its classes have none.
        new: images that this process does not have yet.
        places: of each class, its images by their places among all that were ever sent here.
    """

    run: Run
    new: tuple[bytes, ...]
    places: tuple[tuple[int, ...], ...]


Answer = Generated | ServingError


def serve(pipe: Connection) -> None:
    """Take orders until the other side is gone: for each, when it started, then its answer."""
    os.environ.setdefault("GRPC_EXPERIMENTS", GRPC_EXPERIMENTS)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # HTTP: a connection for each request
    orders: SimpleQueue[tuple[Order, threading.Event]] = SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, orders), daemon=True).start()
    images: list[bytes] = []
    while True:
        order, stop = orders.get()
        images += order.new
        pipe.send(_answer(_whole(order, images), stop, lambda: pipe.send(monotonic())))


def _listen(pipe: Connection, orders: SimpleQueue[tuple[Order, threading.Event]]) -> None:
    """Orders to the main thread, ``STOP`` to the newest of them."""
    stop = threading.Event()
    try:
        while True:
            message = pipe.recv()
            if message == STOP:
                stop.set()
            else:
                stop = threading.Event()
                orders.put((message, stop))
    except (EOFError, OSError):
        os._exit(1)  # nobody is left who could use an answer


def _whole(order: Order, images: list[bytes]) -> Run:
    mix = [
        replace(one, images=[images[place] for place in places])
        for one, places in zip(order.run.mix, order.places, strict=True)
    ]
    return replace(order.run, mix=tuple(mix))


def _answer(run: Run, stop: threading.Event, started: Callable[[], None]) -> Answer:
    try:
        return _generate(run, stop, started)
    except ServingError as error:
        return error
    except Exception as error:
        return BackendFailure(f"the load generator failed: {type(error).__name__}: {error}")


def _generate(run: Run, stop: threading.Event, started: Callable[[], None]) -> Generated:
    from tools.load.engine import Engine  # here: they bring the protocols' libraries
    from tools.load.requests import encoded

    loop = run.loop
    requests = encoded(run, len(loop.due_s) if isinstance(loop, OpenLoop) else DRAWS)
    sender = _senders()[run.protocol](run.address, run.model, run.timeout_s)
    engine = Engine(requests, sender, run.timeout_s, stop)
    try:
        with _undisturbed():
            started()
            cpu_s, wall_s = process_time(), monotonic()
            if isinstance(loop, OpenLoop):
                samples = engine.open_loop(loop.due_s)
            else:
                samples = engine.closed_loop(loop.callers, run.duration_s)
            cpu_s, wall_s = process_time() - cpu_s, monotonic() - wall_s
    finally:
        sender.close()
    return Generated(samples, cpu_s, wall_s, stop.is_set())


def _senders() -> dict[str, Any]:
    from tools.load.by_grpc import GrpcSender
    from tools.load.by_http import HttpSender

    return {
        "grpc": GrpcSender,
        "grpc-bytes": GrpcSender,
        "http": HttpSender,
        "post": partial(HttpSender, path="{}"),
    }


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without the garbage collector, which stops every thread."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()

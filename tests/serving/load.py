"""Clients that keep asking, and remember when they were failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import tritonclient.grpc
from tritonclient.utils import InferenceServerException

from tests.conftest import RunningServer
from tests.serving.clients import question
from tests.serving.pictures import pictures, stack

ANSWER_TIMEOUT_S = 10.0
PAUSE_S = 0.05


class Load:
    """Closed loop: each client sends again when it has its answer, a little later after a failure.

    Attributes:
        errors: the message of each failure.
        last_failure_s: when the newest of them came back, monotonic clock.
        last_answer_s: when the newest answer came back.
    """

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.last_failure_s = self.last_answer_s = 0.0
        self._stop = threading.Event()

    def wait_for_answers(self, quiet_s: float, timeout_s: float) -> None:
        """Return once answers have come, and no failure, for ``quiet_s``."""
        start_s = now_s = time.monotonic()
        while now_s - start_s < timeout_s:
            time.sleep(0.05)
            now_s = time.monotonic()
            quiet = now_s - max(start_s, self.last_failure_s) >= quiet_s
            if quiet and now_s - self.last_answer_s < quiet_s / 2:
                return
        raise AssertionError(f"{timeout_s:g} s later: {(self.errors or ['no answers'])[-1]}")

    def ask(self, url: str, number: int) -> None:
        """One client's life."""
        image = stack([pictures()[number]])
        asked = [question(tritonclient.grpc, "ensemble", image)]
        with tritonclient.grpc.InferenceServerClient(url) as client:
            while not self._stop.is_set():
                try:
                    client.infer("ensemble", asked, client_timeout=ANSWER_TIMEOUT_S)
                    self.last_answer_s = time.monotonic()
                except InferenceServerException as error:
                    self.errors.append(str(error))
                    self.last_failure_s = time.monotonic()
                    self._stop.wait(PAUSE_S)

    def stop(self) -> None:
        self._stop.set()


@contextmanager
def load(server: RunningServer, clients: int) -> Iterator[Load]:
    """So many clients at once, until the block ends."""
    one = Load()
    threads = [threading.Thread(target=one.ask, args=(server.grpc, n)) for n in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield one
    finally:
        one.stop()
        for thread in threads:
            thread.join()

"""A transport without a network: a function in place of the server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ensemble.errors import ServingError
from tools.client.transport import Answer

CUP = Answer((967, 504, 968), (0.957, 0.031, 0.004), ("espresso", "coffee mug", "cup"))


class FakeTransport:
    """Answers each image with what ``reply`` says; an error among them fails the request.

    Attributes:
        requests: the images of every request, in the order of arrival.
        most_at_once: the most requests that were in flight together.
        hung_up: whether the connection was closed.
    """

    def __init__(self, reply: Callable[[bytes], Answer | ServingError] = lambda image: CUP) -> None:
        self.requests: list[list[bytes]] = []
        self.most_at_once = 0
        self.hung_up = False
        self._reply = reply
        self._in_flight = 0
        self._lock = threading.Lock()

    def classify(self, images: list[bytes]) -> list[Answer]:
        with self._lock:
            self.requests.append(images)
            self._in_flight += 1
            self.most_at_once = max(self.most_at_once, self._in_flight)
        try:
            return [self._answer(image) for image in images]
        finally:
            with self._lock:
                self._in_flight -= 1

    def _answer(self, image: bytes) -> Answer:
        reply = self._reply(image)
        if isinstance(reply, ServingError):
            raise reply
        return reply

    @contextmanager
    def connect(self, protocol: str, url: str | None, timeout_s: float) -> Iterator[FakeTransport]:
        """Stands in for ``tools.client.transport.connected``."""
        yield self
        self.hung_up = True


class Turnstile:
    """Lets threads through in a given order, so that a test needs no sleep to mix them up."""

    def __init__(self, order: list[int]) -> None:
        self._order = order
        self._through = 0
        self._moved = threading.Condition()

    def pass_as(self, number: int, timeout_s: float = 10.0) -> None:
        """Wait until everyone before ``number`` in the order is through."""
        with self._moved:
            on_time = self._moved.wait_for(lambda: self._order[self._through] == number, timeout_s)
            assert on_time, f"{number} never had its turn"
            self._through += 1
            self._moved.notify_all()

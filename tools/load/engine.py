"""When requests are sent and what is written down: the open loop and the closed one.

In the open loop a request is due whatever became of the others, and its latency counts from then:
a client that waits for a slow server leaves out those requests that would have waited longest,
which is called coordinated omission. A closed loop does leave them out.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Protocol

import numpy as np

from tools.load.outcome import CANCELLED, DEADLINE, NETWORK
from tools.load.requests import Payload, Requests
from tools.record.samples import Floats, Samples

LEAD_S = 0.02
"""From the start to the first moment of a schedule."""
POLL_S = 0.01
GRACE_S = 1.0
"""Longer than the caller's limit, for a transport that notices late."""
PAUSE_S = 0.1
"""Of a caller whose connection broke; else a dead server makes it a busy loop."""


class Row:
    """One request on its way: a row of ``Samples`` to be. Times are of the monotonic clock."""

    __slots__ = ("_after", "done_s", "due_s", "handed_s", "kind", "outcome")

    def __init__(self, due_s: float, kind: int, after: Callable[[Row], None]) -> None:
        self.due_s = due_s
        self.kind = kind
        self.handed_s: float | None = None
        self.done_s = due_s
        self.outcome: int | None = None
        self._after = after

    def handed(self) -> None:
        """The transport has it now."""
        self.handed_s = monotonic()

    def finish(self, outcome: int) -> None:
        """The answer or the failure is there; only the first counts."""
        if self.outcome is None:
            self.done_s = monotonic()
            self.outcome = outcome
            self._after(self)


class Sender(Protocol):
    """A way to the server that waits for nothing."""

    def send(self, payload: Payload, row: Row) -> None:
        """Hand over, and call ``row.handed`` then and ``row.finish`` later, from any thread."""

    def close(self) -> None:
        """Give up what is in flight, and hang up."""


class Engine:
    """One run.

    Args:
        requests: what is sent.
        sender: how.
        timeout_s: the caller's limit, after which what has no answer is ``deadline``.
        stop: set from another thread, ends the run: what is due later gets no row, and what is
            in flight is ``cancelled``.
    """

    def __init__(
        self,
        requests: Requests,
        sender: Sender,
        timeout_s: float,
        stop: threading.Event | None = None,
    ) -> None:
        self._requests = requests
        self._sender = sender
        self._timeout_s = timeout_s
        self._stop = stop or threading.Event()
        self._rows: list[Row] = []
        self._waiting: set[Row] = set()

    def open_loop(self, due_s: Floats) -> Samples:
        """Each request when it is due, ascending seconds from the start; a row for each."""
        start_s = monotonic() + LEAD_S
        for due, place in zip((start_s + due_s).tolist(), self._requests.order, strict=True):
            if self._stop.wait(max(0.0, due - monotonic())):
                break
            self._send(place, due, self._waiting.discard)
        self._settle()
        return _samples(self._rows, start_s)

    def closed_loop(self, callers: int, duration_s: float) -> Samples:
        """So many callers, each of whom sends again when it has its answer; rows as sent."""
        turns = itertools.cycle(self._requests.order)
        broken: deque[Row] = deque()
        start_s = monotonic()
        end_s = start_s + duration_s

        def again(row: Row) -> None:
            self._waiting.discard(row)
            if row.outcome == NETWORK:
                broken.append(row)
            elif monotonic() < end_s and not self._stop.is_set():
                self._send(next(turns), monotonic(), again)

        for _ in range(callers):
            self._send(next(turns), monotonic(), again)
        while not self._stop.wait(max(0.0, min(PAUSE_S, end_s - monotonic()))):
            if monotonic() >= end_s:
                break
            for _ in range(len(broken)):
                broken.popleft()
                self._send(next(turns), monotonic(), again)
        self._settle()
        for row in self._rows:
            row.due_s = row.due_s if row.handed_s is None else row.handed_s
        return _samples(self._rows, start_s)

    def _send(self, place: int, due_s: float, after: Callable[[Row], None]) -> None:
        row = Row(due_s, self._requests.kinds[place], after)
        self._rows.append(row)
        self._waiting.add(row)
        self._sender.send(self._requests.payloads[place], row)

    def _settle(self) -> None:
        """Wait for what is in flight; what never came is said to be so."""
        until_s = monotonic() + self._timeout_s + GRACE_S
        while self._waiting and monotonic() < until_s and not self._stop.wait(POLL_S):
            pass
        left = CANCELLED if self._stop.is_set() else DEADLINE
        for row in tuple(self._waiting):
            row.finish(left)


def _samples(rows: list[Row], start_s: float) -> Samples:
    rows = sorted(rows, key=lambda row: row.due_s)
    due_s = np.array([row.due_s for row in rows], np.float64)
    done_s = np.array([row.done_s for row in rows], np.float64)
    handed_s = np.array([row.done_s if row.handed_s is None else row.handed_s for row in rows])
    return Samples(
        due_s=due_s - start_s,
        late_s=np.maximum(handed_s - due_s, 0.0),
        latency_s=done_s - due_s,
        outcome=np.array([row.outcome for row in rows], np.int64),
        kind=np.array([row.kind for row in rows], np.int64),
    )

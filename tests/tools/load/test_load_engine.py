"""What the engine writes down, whatever the transport does, and when a run may be used."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from tools.load.engine import Engine, Row
from tools.load.generated import Generated
from tools.load.outcome import CANCELLED, DEADLINE, NETWORK
from tools.load.requests import Payload, Requests
from tools.record.samples import OK, Samples

REQUESTS = Requests([b"a", b"b"], [0, 1], [0, 1, 0, 1])
DUE_S = np.array([0.0, 0.001, 0.001, 0.002])


class FakeSender:
    """Hands each row to a function."""

    def __init__(self, reply: Callable[[Row], None]) -> None:
        self.sent: list[Payload] = []
        self._reply = reply

    def send(self, payload: Payload, row: Row) -> None:
        self.sent.append(payload)
        row.handed()
        self._reply(row)

    def close(self) -> None:
        """Nothing is open."""


def samples_of(late_s: list[float], latency_s: list[float], outcome: int = OK) -> Samples:
    count = len(late_s)
    kind = np.zeros(count, np.int64)
    return Samples(np.zeros(count), np.array(late_s), np.array(latency_s), kind + outcome, kind)


def test_every_due_request_has_a_row() -> None:
    sender = FakeSender(lambda row: row.finish(OK))
    samples = Engine(REQUESTS, sender, 1.0).open_loop(DUE_S)
    assert sender.sent == [b"a", b"b", b"a", b"b"]
    assert samples.kind.tolist() == [0, 1, 0, 1]
    assert samples.due_s == pytest.approx(DUE_S, abs=1e-9)  # floats of a clock far from 0
    assert samples.served.all()
    assert (samples.latency_s >= samples.late_s).all()
    assert (samples.late_s >= 0).all()


def test_what_never_comes_is_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.load.engine.GRACE_S", 0.0)
    samples = Engine(REQUESTS, FakeSender(lambda row: None), 0.01).open_loop(DUE_S)
    assert samples.outcome.tolist() == [DEADLINE] * 4
    assert (samples.latency_s > 0.01).all()


def test_what_comes_twice_counts_once() -> None:
    def reply(row: Row) -> None:
        row.finish(OK)
        row.finish(NETWORK)

    assert Engine(REQUESTS, FakeSender(reply), 1.0).open_loop(DUE_S).served.all()


def test_stopping_cancels_what_is_in_flight_and_sends_no_more() -> None:
    stop = threading.Event()
    sender = FakeSender(lambda row: stop.set())
    due_s = np.array([0.0, 9.0, 9.0, 9.0])
    samples = Engine(REQUESTS, sender, 10.0, stop).open_loop(due_s)
    assert sender.sent == [b"a"]
    assert samples.outcome.tolist() == [CANCELLED]


def test_a_late_transport_is_in_the_latency() -> None:
    """The first send holds up the second, which is late, and its latency counts from the plan."""
    busy = threading.Event()

    def reply(row: Row) -> None:
        busy.wait(0.02)
        row.finish(OK)

    samples = Engine(Requests([b"a"], [0], [0, 0]), FakeSender(reply), 1.0).open_loop(np.zeros(2))
    assert samples.late_s[1] >= 0.02
    assert samples.latency_s[1] >= 0.04


def test_a_caller_sends_again_when_it_has_its_answer() -> None:
    waiting: list[Row] = []
    most: list[int] = []
    stop = threading.Event()

    def reply(row: Row) -> None:
        waiting.append(row)
        most.append(len(waiting))
        if len(most) == 50:
            stop.set()
        if len(waiting) == 3:
            threading.Thread(target=waiting.pop(0).finish, args=(OK,)).start()

    samples = Engine(REQUESTS, FakeSender(reply), 1.0, stop).closed_loop(3, 30.0)
    assert max(most) == 3
    assert samples.served.sum() >= 47
    assert not samples.late_s.any()
    assert (np.diff(samples.due_s) >= 0).all()


def test_a_caller_whose_connection_broke_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.load.engine.PAUSE_S", 0.01)
    sender = FakeSender(lambda row: row.finish(NETWORK))
    samples = Engine(REQUESTS, sender, 1.0).closed_loop(2, 0.05)
    assert len(sender.sent) == len(samples) <= 2 * 6  # at the start, then every 10 ms of 50
    assert set(samples.outcome) == {NETWORK}


@pytest.mark.parametrize(
    ("samples", "cpu_s", "reason"),
    [
        (samples_of([0.0] * 199 + [0.9], [0.001] * 199 + [0.901]), 1.0, None),  # one in two hundred
        (samples_of([0.02] + [0.0] * 39, [0.03] + [0.01] * 37 + [0.05] * 2), 1.0, None),  # no p95
        (samples_of([0.0009] * 100, [0.001] * 100), 1.0, None),
        (samples_of([0.004] * 100, [0.05] * 100), 1.0, None),
        (samples_of([], []), 1.0, None),
        (samples_of([0.006] * 100, [0.05] * 100), 1.0, "6.0 ms of a p50 of 50.0 ms"),
        (samples_of([0.0] * 90 + [0.02] * 10, [0.01] * 90 + [0.03] * 10), 1.0, "ms of a p95 of"),
        (samples_of([0.0] * 98 + [0.02] * 2, [0.01] * 98 + [0.03] * 2), 1.0, "20.0 ms of a p99 of"),
        (samples_of([0.002] * 100, [0.01] * 100, NETWORK), 1.0, "2.0 ms of a p50 of 10.0 ms"),
        (samples_of([0.0] * 100, [0.001] * 100), 9.5, "at its own limit: 9.5 s of CPU in 10.0 s"),
    ],
)
def test_a_generator_that_could_not_keep_up_says_so(
    samples: Samples, cpu_s: float, reason: str | None
) -> None:
    late = Generated(samples, cpu_s, 10.0).late
    assert late is None if reason is None else late is not None and reason in late


def test_a_generator_with_several_cores_is_at_its_limit_with_all_of_them() -> None:
    samples = samples_of([0.0] * 100, [0.001] * 100)
    assert Generated(samples, 9.5, 10.0, cores=2).late is None
    late = Generated(samples, 18.5, 10.0, cores=2).late
    assert late is not None
    assert "allowed 90% of 2 cores" in late

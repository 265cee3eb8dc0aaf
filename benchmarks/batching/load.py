"""The load of these measurements: the generator's engine, with requests for sleeping models.

Latency counts from the scheduled send time, so that a late client can't hide a queue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ensemble.errors import BackendFailure
from tools.load.by_grpc import GrpcSender
from tools.load.engine import Engine
from tools.load.requests import Question, Requests, grpc_request
from tools.record.samples import Floats, Samples

TIMEOUT_S = 600.0
"""Longer than any queue here."""
REFUSALS = ("timed_out", "too_busy", "unavailable")


@dataclass(frozen=True)
class Call:
    """One kind of request.

    Attributes:
        model: the model to call.
        priority: the request's ``priority`` parameter; 0 sends none.
        name: the request's id.
    """

    model: str
    priority: int = 0
    name: str = ""

    def to_bytes(self) -> bytes:
        """The message, encoded once and sent often."""
        # Each stage takes one tensor; a variant of one stage is always the classifier.
        tensor = "PIXELS" if self.model.endswith("-classifier") else "IMAGE"
        question = Question(self.model, tensor, self.priority, id=self.name)
        return grpc_request(question, np.zeros((1, 1), np.uint8))


@dataclass
class Outcome:
    """Every request of one run; times in seconds since its start.

    Attributes:
        due_s: when it should be sent.
        sent_s: when it was.
        done_s: when the answer or the refusal came.
        served: whether it was an answer.
    """

    due_s: list[float] = field(default_factory=list)
    sent_s: list[float] = field(default_factory=list)
    done_s: list[float] = field(default_factory=list)
    served: list[bool] = field(default_factory=list)

    def latencies_ms(self, after_s: float = 0.0) -> Floats:
        """Of those served and due after ``after_s``."""
        due, done = np.array(self.due_s), np.array(self.done_s)
        latencies: Floats = (done - due)[np.array(self.served) & (due >= after_s)] * 1e3
        return latencies


def open_loop(address: str, calls: list[Call], due_s: Floats) -> list[Outcome]:
    """Send each request when it is due, whatever became of the others.

    Args:
        address: host and port of gRPC.
        calls: one for each request, or one for all.
        due_s: ascending, seconds from now.

    Returns:
        One outcome for each distinct call, in their order of first appearance.

    Raises:
        BackendFailure: the server failed in another way than refusing.
    """
    kinds = list(dict.fromkeys(calls))
    order = [kinds.index(calls[number % len(calls)]) for number in range(len(due_s))]
    samples = _sent(address, kinds, order, lambda engine: engine.open_loop(due_s))
    return [_outcome(samples, kind) for kind in range(len(kinds))]


def closed_loop(address: str, model: str, clients: int, duration_s: float) -> Outcome:
    """``clients`` callers that each send again as soon as they have an answer."""
    samples = _sent(
        address, [Call(model)], [0], lambda engine: engine.closed_loop(clients, duration_s)
    )
    return _outcome(samples, 0)


def _sent(
    address: str, kinds: list[Call], order: list[int], run: Callable[[Engine], Samples]
) -> Samples:
    requests = Requests([kind.to_bytes() for kind in kinds], range(len(kinds)), order)
    sender = GrpcSender(address, "", TIMEOUT_S)
    try:
        return run(Engine(requests, sender, TIMEOUT_S))
    finally:
        sender.close()


def _outcome(samples: Samples, kind: int) -> Outcome:
    failures = set(samples.errors()) - set(REFUSALS)
    if failures:
        raise BackendFailure(f"expected answers or refusals, got {', '.join(sorted(failures))}")
    mine = samples.kind == kind
    due_s = samples.due_s[mine]
    return Outcome(
        due_s.tolist(),
        (due_s + samples.late_s[mine]).tolist(),
        (due_s + samples.latency_s[mine]).tolist(),
        samples.served[mine].tolist(),
    )

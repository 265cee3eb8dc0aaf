"""What the server counted during one cell, and whether that can be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.record.record import StageCounts
from tools.statistics.snapshot import Counters, Model

FOREIGN_SHARE = 0.02
FOREIGN_PER_S = 1.0
"""Requests of others that are no traffic: probes of whoever watches the server."""

Statistics = Mapping[Model, Counters]


@dataclass(frozen=True)
class Counted:
    """The server side of one cell.

    Attributes:
        stages: empty where nothing can be said.
        fault: why the cell does not count; None: it does.
    """

    stages: tuple[StageCounts, ...] = ()
    fault: str | None = None


@dataclass(frozen=True)
class Sent:
    """What the client knows of the same time.

    Attributes:
        requests: that were sent.
        answered: of them, answered.
        duration_s: from the first statistics to the last.
    """

    requests: int
    answered: int
    duration_s: float


def counted(before: Statistics, after: Statistics, models: Sequence[str], sent: Sent) -> Counted:
    """The difference, model by model, held against what the client sent.

    Args:
        before: statistics ahead of the cell.
        after: behind it, when every answer was there.
        models: those that a request passes, the one that is called last; none of a silent server.
        sent: by the client.
    """
    stages: list[StageCounts] = []
    for name in models:
        gained = _gained(before, after, name)
        if gained is None:
            return Counted(fault=f"{name} was loaded again meanwhile: its counters began anew")
        stages.append(_stage(name, gained))
    fault = _disagreement(stages[-1].requests, sent) if stages else None
    return Counted(() if fault else tuple(stages), fault)


def requests_of(statistics: Statistics, name: str) -> int:
    """That succeeded on a model, all versions."""
    return sum(one.requests for model, one in statistics.items() if model.name == name)


def _gained(before: Statistics, after: Statistics, name: str) -> Counters | None:
    """Of its versions, the one that had the most requests; None after a reload."""
    versions = [model for model in after if model.name == name]
    found = []
    for model in versions:
        earlier = before.get(model)
        if earlier is None or not earlier.is_before(after[model]):
            return None
        found.append(after[model].since(earlier))
    return max(found, key=lambda one: one.requests, default=None)


def _disagreement(requests: int, sent: Sent) -> str | None:
    """Overall throughput by the server's own row against the client's count."""
    tolerated = FOREIGN_SHARE * sent.requests + FOREIGN_PER_S * sent.duration_s
    if requests > sent.requests + tolerated:
        return f"the server answered {requests - sent.requests} requests of others meanwhile"
    if requests < sent.answered - tolerated:
        return (
            f"the server counted {requests} requests, the client {sent.answered} answers: "
            "they are not of one server"
        )
    return None


def _stage(name: str, gained: Counters) -> StageCounts:
    sizes = gained.sizes or {}
    by_size = {size: (one.executions, _whole_ns(one.busy_s)) for size, one in sizes.items()}
    return StageCounts(
        name,
        gained.requests,
        gained.failures,
        gained.inferences,
        gained.executions,
        request_s=_whole_ns(gained.request_s),
        queue_s=_whole_ns(gained.queue_s),
        compute_input_s=_whole_ns(gained.compute_input_s),
        compute_infer_s=_whole_ns(gained.compute_infer_s),
        compute_output_s=_whole_ns(gained.compute_output_s),
        sizes=None if gained.sizes is None else by_size,
    )


def _whole_ns(seconds: float) -> float:
    """As Triton counts: the rest comes from subtracting."""
    return round(seconds, 9)

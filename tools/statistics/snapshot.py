"""What a server says at one moment: counters of each model, and the gauges beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tools.statistics.counters import Counters, Model, read_counters
from tools.statistics.metrics import Metrics, read_metrics

SLACK_REQUESTS = 20
"""Statistics and metrics are not read at the same moment."""


@dataclass(frozen=True)
class Snapshot:
    """Everything at one moment.

    Attributes:
        at_s: when the answer was there, monotonic clock.
        counters: by model.
        metrics: None where there are none.
    """

    at_s: float
    counters: Mapping[Model, Counters]
    metrics: Metrics | None = None


def take(
    url: str, metrics_url: str | None, now_s: Callable[[], float] = time.monotonic
) -> Snapshot:
    """One snapshot.

    Args:
        url: of HTTP, with scheme, without a slash at the end.
        metrics_url: of Prometheus; None is none.
        now_s: the clock.

    Raises:
        ServingError: the server does not answer.
    """
    counters = read_counters(url)
    at_s = now_s()
    return Snapshot(at_s, counters, read_metrics(metrics_url) if metrics_url else None)


def are_foreign(snapshots: Sequence[Snapshot]) -> bool:
    """Whether the metrics count other requests than the statistics: another server's, or none.

    Several servers on one host, or one port in front of several, are easily mistaken.
    """
    first, last = snapshots[0], snapshots[-1]
    if first.metrics is None or last.metrics is None:
        return False
    for model in first.counters.keys() & last.counters.keys():
        if not first.counters[model].is_before(last.counters[model]):
            continue
        counted = last.counters[model].requests - first.counters[model].requests
        metered = last.metrics.requests.get(model, 0) - first.metrics.requests.get(model, 0)
        if abs(counted - metered) > 0.5 * counted + SLACK_REQUESTS:
            return True
    return False

"""What each model, and each ensemble as a whole, did between two moments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.doctor.stage import Stage
from tools.statistics.counters import Model
from tools.statistics.metrics import Gpu


@dataclass(frozen=True)
class Row:
    """One model, or a whole ensemble; None is not known, or there was nothing to measure.

    Attributes:
        stage: counters and configuration.
        depth: of the ensembles that it is listed under.
        queue_s: mean wait of a request, an ensemble's in the queues of its stages.
        quantiles_s: time of a request by quantile, as the server keeps it; may be empty.
        pending: requests that wait, an ensemble's in its stages.
        rejected: whose timeout ran out in the queue, an ensemble's in its stages.
        refuses: whether a full queue may have refused more, which no counter of a model shows.
    """

    stage: Stage
    depth: int = 0
    queue_s: float | None = None
    quantiles_s: Mapping[float, float] = field(default_factory=dict)
    pending: int | None = None
    rejected: int | None = None
    refuses: bool = False

    @property
    def is_ensemble(self) -> bool:
        """Whether it only passes requests on."""
        return self.stage.config.is_ensemble

    @property
    def mean_s(self) -> float | None:
        """Mean time of a request."""
        return self.stage.latency_s if self.stage.seen.requests else None

    @property
    def queue_share(self) -> float | None:
        """Of the time of a request; above 1 where steps of an ensemble run side by side."""
        return self.queue_s / self.mean_s if self.queue_s is not None and self.mean_s else None

    @property
    def mean_batch(self) -> float | None:
        """Rows of an execution; None for an ensemble, which executes nothing itself."""
        executed = self.stage.seen.executions > 0 and not self.is_ensemble
        return self.stage.mean_batch if executed else None

    @property
    def batches(self) -> Mapping[int, int] | None:
        """Executions by batch size; None for an ensemble, and where the server does not say."""
        sizes = self.stage.seen.sizes
        if sizes is None or self.is_ensemble:
            return None
        return {size: one.executions for size, one in sizes.items()}

    def per_s(self, count: int) -> float:
        """A rate from what was counted."""
        return count / self.stage.window_s


@dataclass(frozen=True)
class View:
    """A server at one moment.

    Attributes:
        url: of HTTP.
        version: of Triton.
        rows: ensembles first, each with its stages; models that were never called last. Empty
            until there are two moments to compare.
        window_s: that the figures are of; 0 until there are two moments.
        metrics_url: None where none answer.
        foreign_metrics_url: of metrics that count other requests than this server does.
        has_quantiles: whether the server keeps them.
        cpu_utilisation: of the server's machine, 0 to 1.
        gpus: by UUID.
        loads: models that were loaded while it was looked at, and how many seconds ago.
        fault: why the server can't be read at the moment.
    """

    url: str
    version: str = "unknown"
    rows: tuple[Row, ...] = ()
    window_s: float = 0.0
    metrics_url: str | None = None
    foreign_metrics_url: str | None = None
    has_quantiles: bool = False
    cpu_utilisation: float | None = None
    gpus: Mapping[str, Gpu] = field(default_factory=dict)
    loads: Mapping[Model, float] = field(default_factory=dict)
    fault: str | None = None

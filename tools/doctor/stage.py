"""One model over a window: what every cause looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tools.statistics.configuration import Config
from tools.statistics.counters import Counters, Model, Size
from tools.validate.findings import Place

ENOUGH_REQUESTS = 20
"""Fewer say nothing about how requests meet."""
ENOUGH_TO_FORGET_COLD = 30
"""Executions of one size, of which the first may have taken many times as long."""
MAX_PARTS = 20
"""Of a window."""
MAX_FAILED = 0.1
"""Share above which failed executions, which are counted, blur everything else."""


@dataclass(frozen=True)
class Moment:
    """One sample of one model.

    Attributes:
        at_s: monotonic clock.
        counters: since the model was loaded.
        pending: requests that wait; None where nobody says.
    """

    at_s: float
    counters: Counters
    pending: int | None = None


@dataclass(frozen=True)
class Probe:
    """What the probe's requests to this model came to.

    Attributes:
        alone_ms: of one request by itself; None when it failed.
        together_ms: mean of those at once; None when all failed.
        errors: texts of the failures.
        requests: those sent at once.
        executions: that they became; None when nobody says.
    """

    alone_ms: float | None
    together_ms: float | None
    errors: tuple[str, ...] = ()
    requests: int = 0
    executions: int | None = None


@dataclass(frozen=True)
class Stage:
    """A model, what it is set to, and what it did in the window.

    Attributes:
        model: name and version.
        config: as the server has it at the end of the window.
        moments: two or more, in order, of one life of the model.
        ready: what it says of itself; None when it did not say.
        reasons: failures of the window by reason; None without metrics.
        reloaded: whether the window begins with a load.
        is_member: whether requests come through an ensemble that had traffic.
        probe: None when it was not asked.
    """

    model: Model
    config: Config
    moments: tuple[Moment, ...]
    ready: bool | None = None
    reasons: Mapping[str, int] | None = None
    reloaded: bool = False
    is_member: bool = False
    probe: Probe | None = None

    @property
    def place(self) -> Place:
        """For findings."""
        return Place(Path(self.model.name))

    @property
    def window_s(self) -> float:
        """Seconds between the first and the last sample."""
        return self.moments[-1].at_s - self.moments[0].at_s

    @cached_property
    def seen(self) -> Counters:
        """Of the window."""
        return self.moments[-1].counters.since(self.moments[0].counters)

    @property
    def executed_requests(self) -> int:
        """Those that no cache answered."""
        return self.seen.requests - (self.seen.cache_hits or 0)

    @property
    def is_enough(self) -> bool:
        """Whether there was good traffic enough to judge how requests are merged."""
        failed = self.seen.failures > MAX_FAILED * self.seen.requests
        return self.executed_requests >= ENOUGH_REQUESTS and self.seen.executions > 0 and not failed

    @property
    def merged(self) -> float:
        """Requests for each execution; 1 is no batching at all."""
        return self.executed_requests / self.seen.executions if self.seen.executions else 0.0

    @property
    def request_batch(self) -> float:
        """Rows that a client puts into a request."""
        return self.seen.inferences / self.executed_requests if self.executed_requests else 0.0

    @property
    def mean_batch(self) -> float:
        """Rows for each execution."""
        return self.seen.inferences / self.seen.executions if self.seen.executions else 0.0

    @property
    def in_flight(self) -> float:
        """Mean number of requests in the model, by Little's law."""
        return self.seen.request_s / self.window_s

    @property
    def waiting(self) -> float:
        """Mean number of requests that wait longer than the delay makes them."""
        beyond_s = self.seen.queue_s - self.seen.requests * self.config.delay_s
        return max(0.0, beyond_s / self.window_s)

    def per_request_s(self, total_s: float) -> float:
        """Mean of a sum over the requests of the window."""
        return total_s / self.seen.requests if self.seen.requests else 0.0

    @property
    def queue_s(self) -> float:
        """Mean wait of a request."""
        return self.per_request_s(self.seen.queue_s)

    @property
    def latency_s(self) -> float:
        """Mean time of a request."""
        return self.per_request_s(self.seen.request_s)

    @property
    def execution_s(self) -> float | None:
        """Mean time of an execution."""
        count = sum(size.executions for size in (self.seen.sizes or {}).values())
        return self._busy_s / count if count and self._busy_s is not None else None

    @property
    def _busy_s(self) -> float | None:
        if self.seen.sizes is None:
            return None
        return sum(size.busy_s for size in self.seen.sizes.values())

    @property
    def utilisation(self) -> float | None:
        """Share of the time that an instance is executing.

        At most 1: executions that began before the window count as a whole.
        """
        if self._busy_s is None or not self.config.instances:
            return None
        return min(1.0, self._busy_s / (self.window_s * self.config.instances))

    @property
    def batches(self) -> bool:
        """Whether the configuration lets Triton merge requests."""
        return self.config.batching is not None and self.config.max_batch_size > 1

    @property
    def could_merge(self) -> bool:
        """Whether there were requests enough to judge, and two of them may share a batch."""
        has_room = self.request_batch <= self.config.max_batch_size / 2
        return self.is_enough and self.batches and has_room

    @property
    def runs_each_alone(self) -> bool:
        """Whether it is only the configuration that lets no two requests share a batch.

        Not asked of a sequence batcher, nor of requests of which no two would fit.
        """
        size = self.config.max_batch_size
        has_room = size < 2 or self.request_batch <= size / 2
        possible = not self.config.is_sequence and not self.config.is_ensemble
        return self.is_enough and possible and not self.batches and has_room

    @property
    def potential(self) -> float:
        """Requests that an execution could have had.

        Each of N instances executes a batch while another gathers, so of L in flight a batch has
        L / (N + 1); no more than fit into it.
        """
        fit = self.config.max_batch_size / max(1.0, self.request_batch)
        return min(fit, self.in_flight / ((self.config.instances or 1) + 1))

    @property
    def is_crowded(self) -> bool:
        """Whether requests wait, and for an instance rather than for the delay."""
        return (
            self.is_enough
            and (self.utilisation or 0.0) >= 0.7
            and self.waiting >= 0.5
            and self.in_flight >= 1.3 * ((self.config.instances or 1) + 1)
        )

    @property
    def lets_several_wait(self) -> bool:
        """Whether requests wait long, and two or more of them at a time.

        With N instances two wait when N + 2 are in flight, which no N + 1 callers ever are; the
        pending gauge shows it as well.
        """
        long = self.waiting >= 0.5 or self.queue_s - self.config.delay_s >= 0.5 * self.latency_s
        pending = [moment.pending for moment in self.moments if moment.pending is not None]
        gauged = sum(one >= 2 for one in pending) > max(3, 0.05 * len(pending))
        return (
            self.is_enough and long and (gauged or self.exceeds((self.config.instances or 1) + 1))
        )

    def exceeds(self, callers: float) -> bool:
        """Whether more were in flight in some part of the window, by Little's law.

        A part may count what began before it, so its bound is a little higher.
        """
        begin, parts = self.moments[0], self.parts
        for moment in self.moments[1:] if parts else ():
            passed_s = moment.at_s - begin.at_s
            if passed_s >= self.window_s / parts:
                in_flight = (moment.counters.request_s - begin.counters.request_s) / passed_s
                if in_flight > callers * (1.02 + 1.2 * self.latency_s / passed_s):
                    return True
                begin = moment
        return False

    @property
    def parts(self) -> int:
        """Into which the window can be cut, each of a few requests one after the other."""
        return min(MAX_PARTS, int(self.window_s / (4 * self.latency_s))) if self.latency_s else 0

    @property
    def is_kept_apart(self) -> bool:
        """Whether requests that could have shared a batch did not."""
        return (
            self.is_crowded
            and self.batches
            and not self.config.is_sequence
            and self.potential >= 1.5
            and self.merged < 0.6 * self.potential
        )

    def times(self) -> Times | None:
        """Execution time by batch size, as measured; None with fewer than two sizes.

        The window first, since what was counted before holds the cold first execution of each size.
        """
        total = self.moments[-1].counters.sizes
        for sizes, enough in ((self.seen.sizes, 3), (total, ENOUGH_TO_FORGET_COLD)):
            known = {size: one for size, one in (sizes or {}).items() if one.executions >= enough}
            if len(known) >= 2:
                return Times.fit(known)
        return None


@dataclass(frozen=True)
class Times:
    """An execution of n rows takes a + c*n seconds.

    Attributes:
        a_s: whatever the size.
        c_s: for each row.
    """

    a_s: float
    c_s: float

    @classmethod
    def fit(cls, sizes: Mapping[int, Size]) -> Times:
        """Least squares over executions; neither part below 0."""
        n = sum(one.executions for one in sizes.values())
        mean_size = sum(size * one.executions for size, one in sizes.items()) / n
        mean_s = sum(one.busy_s for one in sizes.values()) / n
        spread = sum(one.executions * (size - mean_size) ** 2 for size, one in sizes.items())
        slope = sum((size - mean_size) * one.busy_s for size, one in sizes.items()) / spread
        c_s = min(max(slope, 0.0), mean_s / mean_size)
        return cls(mean_s - c_s * mean_size, c_s)

    def gain(self, small: float, large: float) -> float:
        """How many times as many rows a second batches of ``large`` give."""
        per_row_s = [self.a_s / size + self.c_s for size in (small, large)]
        return per_row_s[0] / per_row_s[1] if per_row_s[1] else 1.0


@dataclass(frozen=True)
class Watched:
    """A server over a window.

    Attributes:
        url: with scheme.
        version: of Triton.
        stages: models that were watched.
        window_s: how long; less than was asked for when it was cut short.
        metrics_url: None where there were none.
        foreign_metrics_url: of metrics that do not count what this server's statistics count.
        interrupted: whether it was cut short.
        missed: samples that the server did not answer.
    """

    url: str
    version: str
    stages: tuple[Stage, ...]
    window_s: float
    metrics_url: str | None = None
    foreign_metrics_url: str | None = None
    interrupted: bool = False
    missed: int = 0

    def members(self, ensemble: Stage) -> tuple[Stage, ...]:
        """Stages of an ensemble that were watched, in order."""
        by_name = {stage.model.name: stage for stage in self.stages}
        return tuple(
            by_name[name] for name in dict.fromkeys(ensemble.config.steps) if name in by_name
        )

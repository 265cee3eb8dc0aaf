"""One cell: the load on one target, with the server's counters and its resources around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tools.bench.engine import Engine, Tick
from tools.bench.loads import Loads
from tools.bench.plan import Step
from tools.bench.resources import Meter
from tools.bench.stages import Sent, Statistics, counted, requests_of
from tools.bench.targets import Subject
from tools.clock import Clock
from tools.load.loads import RequestClass, Run
from tools.record.record import Cell
from tools.record.samples import OUTCOMES, Samples
from tools.statistics.snapshot import read_counters, read_metrics

INTERRUPTED = "interrupted"
BUSY = "a server was still at work on the cell before"
IDLE_TIMEOUT_S = 10.0
STEADY_S = 0.2
COUNTED_TIMEOUT_S = 1.0
"""Triton counts a request just after it has answered it."""
_GIVEN_UP = [OUTCOMES.index(one) for one in ("deadline", "cancelled", "network")]
"""The client has left; the server may still be at work."""


@dataclass
class Bench:
    """What all cells share.

    Attributes:
        subjects: by the name of the target.
        loads: what is put on each.
        mix: the classes.
        duration_s: of one cell.
        timeout_s: the caller's own limit on one request.
        engine: makes the requests.
        clock: time.
    """

    subjects: Mapping[str, Subject]
    loads: Loads
    mix: tuple[RequestClass, ...]
    duration_s: float
    timeout_s: float
    engine: Engine
    clock: Clock = field(default_factory=Clock)
    _is_busy: bool = False

    def measure(self, step: Step, tick: Tick) -> Cell:
        """One cell; one that does not count says why.

        Raises:
            ServingError: the server has ended, or does not answer any more.
        """
        subject, was_busy = self.subjects[step.side.target], self._is_busy
        subject.endpoint.check_alive()
        before, start_s = _statistics(subject), self.clock.now_s()
        meter = Meter(subject.endpoint, self.clock.now_s)
        generated = self.engine.run(self._run(step, subject), _both(meter, tick))
        samples = generated.samples
        cell = Cell(
            step.round, step.side.target, step.load, step.side.protocol, self.duration_s, samples
        )
        if generated.interrupted:
            return replace(cell, unused=INTERRUPTED)
        resources = meter.stop(generated.cpu_s)
        subject.endpoint.check_alive()
        self._is_busy = not self._is_done(subject, samples)
        after = self._after(subject, before, samples)
        sent = Sent(len(samples), int(samples.served.sum()), self.clock.now_s() - start_s)
        server = counted(before, after, subject.models, sent)
        faults = filter(None, (BUSY if was_busy else None, generated.late, server.fault))
        return replace(
            cell, stages=server.stages, resources=resources, unused="; ".join(faults) or None
        )

    def _run(self, step: Step, subject: Subject) -> Run:
        random = np.random.default_rng(step.arrivals_seed)
        return Run(
            protocol=step.side.protocol,
            address=subject.endpoint.address(step.side.protocol),
            model=subject.target.model,
            loop=self.loads.loop(step.load, self.duration_s, random),
            duration_s=self.duration_s,
            mix=self.mix,
            seed=step.mix_seed,
            timeout_s=self.timeout_s,
        )

    def _is_done(self, subject: Subject, samples: Samples) -> bool:
        """Whether the server has nothing left to do; it has when every request was answered."""
        if not np.isin(samples.outcome, _GIVEN_UP).any():
            return True
        return self.clock.wait(lambda: self._is_idle(subject), IDLE_TIMEOUT_S)

    def _is_idle(self, subject: Subject) -> bool:
        """Nothing waits, and for a moment nothing ends."""
        url = subject.endpoint.metrics_url
        metrics = None if url is None else read_metrics(url)
        if metrics is not None and any(metrics.pending.values()):
            return False
        before = _statistics(subject)
        self.clock.sleep(STEADY_S)
        return _statistics(subject) == before

    def _after(self, subject: Subject, before: Statistics, samples: Samples) -> Statistics:
        """Statistics that have every answer in them, if that comes soon."""
        if not subject.models:
            return {}
        model, after = subject.target.model, [before]
        least = requests_of(before, model) + int(samples.served.sum())

        def has_all() -> bool:
            after.append(_statistics(subject))
            return requests_of(after[-1], model) >= least

        self.clock.wait(has_all, COUNTED_TIMEOUT_S)
        return after[-1]


def _both(meter: Meter, tick: Tick) -> Tick:
    def both(passed_s: float) -> None:
        meter.tick()
        tick(passed_s)

    return both


def _statistics(subject: Subject) -> Statistics:
    return read_counters(subject.endpoint.http_url) if subject.models else {}

"""Before anything is measured: does each target answer, and then the first execution of each size.

The first execution of a batch size is slow on most runtimes, and each instance has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ensemble.errors import ContractMismatch, ModelUnavailable, ServingError
from tools.bench.classes import alone
from tools.bench.engine import Engine, samples_of
from tools.bench.stages import requests_of
from tools.bench.targets import Subject
from tools.clock import Clock
from tools.doctor.probe import request_of, send
from tools.load.loads import ClosedLoop, OpenLoop, RequestClass, Run
from tools.record.record import Load, WarmUp
from tools.record.samples import OK, OUTCOMES
from tools.statistics.configuration import config_of
from tools.statistics.snapshot import Model, read_counters

FIRST_TIMEOUT_S = 60.0
"""A runtime may optimise its model on the first request."""
COUNTED_TIMEOUT_S = 1.0
SIZE_S = 0.4
TOGETHER_S = 1.0
LIMIT_S = 30.0
"""Of one target; larger sizes are left out then."""
CALLERS = 16
"""At once, where the loads name none."""
_NOT_THERE = ("network", "unavailable")


@dataclass(frozen=True)
class WarmUps:
    """What every target is warmed up with.

    Attributes:
        mix: the classes.
        loads: that will be measured.
        protocols: that will be used.
        engine: makes the requests.
        clock: time.
    """

    mix: tuple[RequestClass, ...]
    loads: Sequence[Load]
    protocols: Sequence[str]
    engine: Engine
    clock: Clock

    def check(self, subject: Subject) -> None:
        """One request of every class over every protocol.

        Raises:
            ModelUnavailable: nobody answers.
            ContractMismatch: the answer is an error, or another server gave it.
        """
        for protocol in self.protocols:
            before = _requests(subject)
            for one in self.mix:
                run = self._run(subject, protocol, OpenLoop(np.zeros(1)), (alone(one),))
                outcomes = samples_of(self.engine, run).outcome
                if outcomes.tolist() != [OK]:
                    raise _refused(subject, run, OUTCOMES[outcomes[0]])
            least = before + len(self.mix)
            if subject.models and not self.clock.wait(
                lambda: _requests(subject) >= least,  # noqa: B023  (called at once)
                COUNTED_TIMEOUT_S,
            ):
                raise ContractMismatch(
                    f"{subject.target.name}: {subject.endpoint.address(protocol)} ({protocol}) "
                    f"answers, and {subject.endpoint.http_url} does not count it: expected one "
                    "server; say its ports with --url NAME=HOST:PORT,grpc=PORT"
                )

    def warm_up(self, subject: Subject) -> tuple[WarmUp, ...]:
        """Every batch size up to the largest that the loads can reach, then all callers at once."""
        start_s = self.clock.now_s()
        done = []
        for rows in sizes_up_to(self._largest(subject)):
            found = self._size(subject, rows)
            if found is None or self.clock.now_s() - start_s > LIMIT_S:
                break
            done.append(found)
        callers = [int(one.value) for one in self.loads if one.kind == "closed"]
        loop = ClosedLoop(max(callers, default=CALLERS))
        for protocol in self.protocols:
            samples_of(self.engine, self._run(subject, protocol, loop, self.mix, TOGETHER_S))
        return tuple(done)

    def _size(self, subject: Subject, rows: int) -> WarmUp | None:
        """None where the model takes no such request, for its own reasons."""
        mix = (alone(self.mix[0], rows),)
        samples = samples_of(self.engine, self._run(subject, self.protocols[0], ClosedLoop(1), mix))
        served_ms = 1e3 * samples.latency_s[samples.served]
        if not len(served_ms):
            return None
        return WarmUp(rows, round(float(served_ms[0]), 3), round(float(served_ms[-1]), 3))

    def _largest(self, subject: Subject) -> int:
        """Images in the largest batch; an open load can queue any number."""
        reached = [
            int(one.value) * max(kind.rows for kind in self.mix)
            for one in self.loads
            if one.kind == "closed"
        ]
        allowed = subject.max_batch_size
        return allowed if len(reached) < len(self.loads) else min(allowed, max(reached))

    def _run(
        self,
        subject: Subject,
        protocol: str,
        loop: ClosedLoop | OpenLoop,
        mix: tuple[RequestClass, ...],
        duration_s: float = SIZE_S,
    ) -> Run:
        address, model = subject.endpoint.address(protocol), subject.target.model
        return Run(protocol, address, model, loop, duration_s, mix, timeout_s=FIRST_TIMEOUT_S)


def sizes_up_to(largest: int) -> Iterator[int]:
    """1, 2, 4 and so on, and the largest itself."""
    size = 1
    while size < largest:
        yield size
        size *= 2
    yield largest


def _requests(subject: Subject) -> int:
    if not subject.models:
        return 0
    return requests_of(read_counters(subject.endpoint.http_url), subject.target.model)


def _refused(subject: Subject, run: Run, outcome: str) -> ServingError:
    where = f"{subject.target.name}: {run.address} ({run.protocol})"
    if outcome in _NOT_THERE:
        return ModelUnavailable(f"{where}: no answer to the first request ({outcome})")
    name = run.mix[0].name
    said = _in_words(subject, run)
    return ContractMismatch(
        f"{where}: expected an answer to the first request of class {name}, got {outcome}{said}"
    )


def _in_words(subject: Subject, run: Run) -> str:
    """What the server says to the same image over HTTP; nothing when it takes that one."""
    configuration = subject.target.configurations.get(run.model)
    if configuration is None:
        return ""
    try:
        request = request_of(config_of(configuration), run.mix[0].images[0])
    except (LookupError, TypeError, ValueError, AttributeError):
        return ""
    path = f"{subject.endpoint.http_url}{Model(run.model, '').path}/infer"
    _, reason = send(path, request)
    return f": {reason}" if reason else ""

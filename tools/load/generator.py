"""The load generator: one process that sends, used for many runs."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NotYet
from dataclasses import replace
from multiprocessing import resource_tracker
from time import monotonic
from types import TracebackType

from ensemble.errors import BackendFailure
from tools.load.child import STOP, Answer, Order, serve
from tools.load.generated import Generated
from tools.load.loads import Run

TICK_S = 0.1
MOST_EXTRA_S = 60.0
"""What a run may take beside its duration and the caller's limit, encoding above all."""


class Generator:
    """Starts the process when entered, and ends it when left."""

    def __enter__(self) -> Generator:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=True)
        # Ctrl-C goes to every process of a terminal; this one has to send what it has measured.
        resource_tracker.ensure_running()  # else it is started below, and clears the mask
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        theirs.close()
        self._reader = ThreadPoolExecutor(1)
        self._places: dict[bytes, int] = {}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.join()
        self._reader.shutdown()
        self._pipe.close()

    def run(self, run: Run, tick: Callable[[float], None] | None = None) -> Generated:
        """Send what a run says and wait for its end.

        Ctrl-C ends it early; what was measured until then is returned and marked as interrupted.
        A second one is raised.

        Args:
            run: what to send where.
            tick: called about ten times a second with the seconds since the first request.

        Raises:
            ContractMismatch: the run can't be sent as it is.
            BackendFailure: the process died or hangs.
        """
        self._started_s: float | None = None
        try:
            self._pipe.send(self._order(run))
        except OSError as error:
            raise self._dead() from error
        answer: Future[Answer] = self._reader.submit(self._receive)
        interrupted = False
        try:
            self._watch(answer, run.duration_s + run.timeout_s + MOST_EXTRA_S, tick)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            if not answer.done():
                self._stop()
        generated = self._result(answer)
        return replace(generated, interrupted=True) if interrupted else generated

    def _order(self, run: Run) -> Order:
        """The run with those images only that the process does not have yet."""
        known = len(self._places)
        places = tuple(
            tuple(self._places.setdefault(image, len(self._places)) for image in one.images)
            for one in run.mix
        )
        new = tuple(self._places)[known:]
        mix = tuple(replace(one, images=()) for one in run.mix)
        return Order(replace(run, mix=mix), new, places)

    def _receive(self) -> Answer:
        while isinstance(message := self._pipe.recv(), float):
            self._started_s = message  # of the monotonic clock, which all processes share
        return message  # type: ignore[no-any-return]

    def _watch(
        self, answer: Future[Answer], limit_s: float, tick: Callable[[float], None] | None
    ) -> None:
        until_s = monotonic() + limit_s
        while not answer.done() and monotonic() < until_s:
            if tick is not None and self._started_s is not None:
                tick(monotonic() - self._started_s)
            wait([answer], TICK_S)

    def _stop(self) -> None:
        try:
            self._pipe.send(STOP)
        except OSError:
            return  # it is dead, as its answer will say

    def _result(self, answer: Future[Answer]) -> Generated:
        try:
            result = answer.result(MOST_EXTRA_S)
        except (EOFError, OSError, NotYet) as error:
            raise self._dead() from error
        if isinstance(result, Generated):
            return result
        raise result

    def _dead(self) -> BackendFailure:
        self._process.kill()
        self._process.join()
        return BackendFailure(
            f"the load generator's process ended in the middle, exit code {self._process.exitcode}"
        )

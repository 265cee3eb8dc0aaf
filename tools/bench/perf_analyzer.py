"""perf_analyzer as the engine of ``tandem bench``: one run of the program for each cell."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from types import TracebackType

import numpy as np

from ensemble.errors import BackendFailure, ServingError
from tools.load.generated import Generated
from tools.load.loads import ClosedLoop, Run
from tools.perf_analyzer.command import EXPORT, arguments, write_files
from tools.perf_analyzer.export import Requests, read_export, scheduled, steady
from tools.perf_analyzer.program import program
from tools.record.samples import Samples
from tools.statistics.http import in_brief

TICK_S = 0.1
MOST_EXTRA_S = 60.0
"""What a run may take beside its duration and the caller's limit: to start, above all."""


class PerfAnalyzer:
    """Starts the program for each run, and ends it when it takes too long."""

    def __enter__(self) -> PerfAnalyzer:
        self._program = program()
        self._scratch = tempfile.TemporaryDirectory(prefix="tandem-perf-analyzer-")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._scratch.cleanup()

    def run(self, run: Run, tick: Callable[[float], None] | None = None) -> Generated:
        """Have the program send what a run says.

        It ends with the first request that fails, and then the run is of no use. What it has
        measured it says at its end only, so that after Ctrl-C there are no samples.

        Args:
            run: with one class, see ``check_fits``.
            tick: called about ten times a second with the seconds since it was started.
        """
        folder = Path(self._scratch.name)
        cpu_s, start_s = _children_cpu_s(), monotonic()
        generated = Generated(Samples(*np.zeros((3, 0)), *np.zeros((2, 0), np.int64)), 0.0, 0.0)
        try:
            (folder / EXPORT).unlink(missing_ok=True)  # it overwrites nothing
            write_files(run, folder)
            self._execute(run, folder, tick)
            generated = _generated(run, read_export(folder / EXPORT))
        except ServingError as error:
            generated = replace(generated, fault=str(error))
        except KeyboardInterrupt:
            generated = replace(generated, interrupted=True)
        return replace(
            generated,
            cpu_s=_children_cpu_s() - cpu_s,
            wall_s=monotonic() - start_s,
            cores=len(os.sched_getaffinity(0)),  # it has threads that run at the same time
        )

    def _execute(self, run: Run, folder: Path, tick: Callable[[float], None] | None) -> None:
        command = [str(self._program), *arguments(run, folder)]
        limit_s = run.duration_s + run.timeout_s + MOST_EXTRA_S
        log_file = folder / "log"
        with log_file.open("wb") as log:
            code = _exit_code(command, log.fileno(), limit_s, tick or (lambda _: None))
        if code is None:
            raise BackendFailure(f"perf_analyzer did not end within {limit_s:.0f} s")
        if code:
            raise BackendFailure(f"perf_analyzer ended with {code}: {_words(log_file)}")


def _exit_code(
    command: Sequence[str], log: int, limit_s: float, tick: Callable[[float], None]
) -> int | None:
    """None when it had to be killed. It is in a session of its own: Ctrl-C is for us to heed.

    What is on a PATH may be a script around the program, so that it is ended with what it started.
    """
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    ) as process:
        start_s = monotonic()
        try:
            while (passed_s := monotonic() - start_s) < limit_s:
                tick(passed_s)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return process.wait(TICK_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return None


def _words(log_file: Path) -> str:
    """What it said of its failure, among much else: its first error, else its last words."""
    lines = [line for line in log_file.read_text(errors="replace").split("\n") if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines[-1:] or ["nothing"]
    return in_brief(" ".join(telling[0].split()))


def _generated(run: Run, requests: Requests) -> Generated:
    if not isinstance(run.loop, ClosedLoop):
        return Generated(scheduled(requests, run.loop.due_s), 0.0, 0.0)
    found = steady(requests, run.loop.callers)
    return Generated(found.samples, 0.0, 0.0, duration_s=found.duration_s, unlisted=found.unlisted)


def _children_cpu_s() -> float:
    """Of all that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

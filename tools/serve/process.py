"""One run of ``tritonserver``: started in a group of its own, stopped with all its stubs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from ensemble.errors import BackendFailure
from tools.serve.preflight import SHARED_MEMORY

STOP_TIMEOUT_S = 15.0
MAX_LOG_BYTES = 64 << 20
_LIBC = ctypes.CDLL(None)


_INSTANCE = re.compile(r".+_\d+_\d+")


class Stub(NamedTuple):
    """A Python process that serves one instance of a model.

    Attributes:
        instance: ``<model>_<group>_<number>``.
        started_s: when, seconds since the epoch.
        process: itself.
    """

    instance: str
    started_s: float
    process: psutil.Process


class ServerProcess:
    """The server and its Python stubs.

    Attributes:
        log_file: what the server and the stubs print.
    """

    def __init__(
        self, command: Sequence[str], environment: dict[str, str], log_file: Path, shm_prefix: str
    ) -> None:
        self.log_file = log_file
        self._shm_prefix = shm_prefix
        with open(os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as log:
            self._popen = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches us alone; we stop the rest in order
                preexec_fn=_end_with_parent,
                umask=0o077,  # for what the server writes; not heeded by shared memory
            )
        _work_in_long_turns(self._popen.pid)

    @property
    def pid(self) -> int:
        """Process id of the server, and of its process group."""
        return self._popen.pid

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._popen.poll()

    def stubs(self) -> list[Stub]:
        """Live Python stubs, oldest first."""
        found = []
        try:
            children = psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        for child in children:
            try:
                words = child.cmdline()
                alive = child.status() != psutil.STATUS_ZOMBIE
                started_s = child.create_time()
            except psutil.Error:
                continue
            # ... stub MODEL.PY PREFIX-UUID SIZE GROWTH PARENT BACKEND OFFSET INSTANCE RUNTIME
            # The one that completes a configuration is named like the model: no instance.
            # One that has just begun or is about to end may show its name only.
            is_stub = alive and words and words[0].endswith("triton_python_backend_stub")
            if is_stub and len(words) > 1 and _INSTANCE.fullmatch(words[-2]):
                found.append(Stub(words[-2], started_s, child))
        return sorted(found, key=lambda stub: stub.started_s)

    def close_shared_memory(self) -> None:
        """Let nobody else read the regions, which hold other people's images.

        Whoever makes one leaves it readable by all: Boost sets 0644 after the umask, with fchmod.
        """
        for region in SHARED_MEMORY.glob(f"{self._shm_prefix}*"):
            try:
                region.chmod(0o600)
            except FileNotFoundError:  # its stub has just ended
                continue

    def limit_log(self) -> None:
        """Keep the last full part of the log beside a new one, so that it can't fill the disk.

        Every damaged image is a line or two. Server and stubs append, so they go on at the start.
        """
        if self.log_file.stat().st_size > MAX_LOG_BYTES:
            kept = self.log_file.with_suffix(".log.1")
            kept.unlink(missing_ok=True)
            with open(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
                copy.write(self.log_file.read_bytes())
            os.truncate(self.log_file, 0)

    def stop(self) -> None:
        """Ask the server to finish what it has, then end everything that is left."""
        if self._popen.poll() is None:
            self._popen.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(STOP_TIMEOUT_S)
        self.kill()

    def kill(self) -> None:
        """End the server and its stubs at once, and remove their shared memory."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()
        for region in SHARED_MEMORY.glob(f"{self._shm_prefix}*"):
            region.unlink(missing_ok=True)

    def failure(self, what: str) -> BackendFailure:
        """An error that ends with what the server's log says of it."""
        lines = self.log_file.read_text(errors="replace").splitlines()
        telling = [line for line in lines if line.startswith(("E", "error")) or "Error" in line]
        tail = "\n  ".join((telling or lines)[-8:])
        return BackendFailure(f"{what}; log: {self.log_file}\n  {tail}")


def _end_with_parent() -> None:
    """Ask the kernel to stop the server when we are killed and can't."""
    set_parent_death_signal = 1  # PR_SET_PDEATHSIG of linux/prctl.h
    _LIBC.prctl(set_parent_death_signal, signal.SIGTERM)


def _work_in_long_turns(pid: int) -> None:
    """Let a stage that wakes wait for its turn, rather than interrupt the one that is computing.

    The stages share the cores; each interruption empties the other's cache (docs/performance.md).
    What a process starts later inherits it.
    """
    with contextlib.suppress(OSError):  # some sandboxes forbid it; it only costs speed
        os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))

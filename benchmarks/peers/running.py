"""A peer's server as processes: started, asked, frozen while others are measured, ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.peers.answers import Unanswered, ask
from benchmarks.peers.catalogue import TANDEM, Peer
from benchmarks.peers.chain import ROOT, SETTINGS
from benchmarks.peers.install import python_of
from tools.serve.ports import free_ports

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 8.0
LINES_OF_LOG = 15


class NotStarted(Exception):
    """A server that gave no right answer in time; its last words are the message."""


@dataclass(frozen=True)
class Server:
    """A running server and its processes.

    Attributes:
        peer: what it is.
        address: host and port that are called.
        root: the process that was started.
    """

    peer: Peer
    address: str
    root: psutil.Process

    def processes(self) -> list[psutil.Process]:
        """All that are alive, parents first, and last those whose parent has ended."""
        family = [self.root]
        with contextlib.suppress(psutil.NoSuchProcess):
            family += self.root.children(recursive=True)
        return [*family, *(one for one in _session(self.root.pid) if one not in family)]

    def cpu_s(self) -> float:
        """User and system time of all processes so far."""
        total_s = 0.0
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total_s += times.user + times.system
        return total_s

    def resident_bytes(self) -> int:
        """Of all processes; pages that they share count for each."""
        total = 0
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
        return total

    def freeze(self) -> None:
        """Stop all processes where they are, so that they take nothing from those measured.

        Parents first: one that is awake while its children sleep might take them for dead.
        """
        self._signal(self.processes(), signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on, children first."""
        self._signal(self.processes()[::-1], signal.SIGCONT)

    def _signal(self, processes: Sequence[psutil.Process], number: signal.Signals) -> None:
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def stop(self) -> None:
        """End it, gently at first unless that is interrupted."""
        processes = self.processes()
        try:
            self.thaw()
            self._signal([self.root], signal.SIGTERM)
            psutil.wait_procs(processes, STOP_TIMEOUT_S)
        finally:
            self._signal(processes, signal.SIGKILL)
            psutil.wait_procs(processes, STOP_TIMEOUT_S)


def _session(leader: int) -> Iterator[psutil.Process]:
    """Processes of the session that a process began, which may have ended."""
    for process in psutil.process_iter():
        with contextlib.suppress(OSError):
            if os.getsid(process.pid) == leader:
                yield process


@contextlib.contextmanager
def running(peer: Peer, photograph: bytes) -> Iterator[Server]:
    """A server that answers.

    Args:
        peer: to start.
        photograph: that it is asked about until it answers.

    Raises:
        NotStarted: it ended, or was not ready in time.
    """
    ports = free_ports(3)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        log = Path(scratch) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                _command(peer, ports),
                cwd=ROOT,
                env=_environment(peer, ports, scratch),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        server = Server(peer, f"127.0.0.1:{ports[peer.port]}", psutil.Process(process.pid))
        try:
            _wait(server, process, photograph, log)
            yield server
        finally:
            server.stop()
            process.wait()


def _command(peer: Peer, ports: Sequence[int]) -> list[str]:
    if peer.folder != TANDEM.folder:
        return [str(python_of(peer)), "-m", f"benchmarks.peers.{peer.folder}.server"]
    http, grpc, metrics = ports
    command = [sys.executable, "-m", "tools", "serve", f"--profile={peer.settings['profile']}"]
    command += ["--fused"] if peer.settings["fused"] else []
    return [*command, f"--http-port={http}", f"--grpc-port={grpc}", f"--metrics-port={metrics}"]


def _environment(peer: Peer, ports: Sequence[int], scratch: str) -> dict[str, str]:
    """That of this process; what a peer leaves in its home is gone with ``scratch``."""
    values = {**os.environ, **peer.settings.get("environment", {}), "PYTHONPATH": str(ROOT)}
    if peer.folder == TANDEM.folder:
        return values
    # Triton's Python backend and Ray look for the library of the Python that they run in.
    values["LD_LIBRARY_PATH"] = str(sysconfig.get_config_var("LIBDIR"))
    values.update(dict.fromkeys(("HOME", "TMPDIR", "RAY_TMPDIR"), scratch))
    return {**values, SETTINGS: json.dumps({**peer.settings, "ports": ports})}


def _wait(server: Server, process: subprocess.Popen[bytes], photograph: bytes, log: Path) -> None:
    until_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until_s and process.poll() is None:
        try:
            ask(server.peer, server.address, photograph)
        except Unanswered:
            time.sleep(0.5)
        else:
            return
    said = log.read_text(errors="replace").splitlines()
    raise NotStarted("\n".join(said[-LINES_OF_LOG:]) or "it said nothing")

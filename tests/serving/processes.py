"""The processes and the shared memory of one ``tandem serve``, told from those of others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import psutil

from tests.conftest import RunningServer


def tritonserver(server: RunningServer) -> psutil.Process:
    (child,) = [
        child
        for child in psutil.Process(server.process.pid).children()
        if child.name() == "tritonserver" and _runs(child)
    ]
    return child


def stubs(server: RunningServer) -> dict[str, psutil.Process]:
    """By instance, ``<model>_<group>_<number>``; of several, as after a reload, the newest."""
    children = sorted(tritonserver(server).children(), key=psutil.Process.create_time)
    return {words[-2]: child for child in children if len(words := _words(child)) > 2}


def stubs_of(server: RunningServer, model: str) -> list[psutil.Process]:
    return [stub for name, stub in stubs(server).items() if name.rsplit("_", 2)[0] == model]


def regions(server: RunningServer) -> list[Path]:
    """The shared memory of this server: what begins like that of its stubs."""
    # ... stub MODEL.PY PREFIX_UUID SIZE ...
    prefixes = {_words(stub)[2].rpartition("_")[0] for stub in stubs(server).values()}
    assert len(prefixes) == 1, prefixes
    return list(Path("/dev/shm").glob(f"{prefixes.pop()}_*"))


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; a zombie that nobody has reaped, as in some containers, does not."""
    return [process for process in processes if _runs(process)]


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _words(process: psutil.Process) -> list[str]:
    try:
        words = process.cmdline()
    except psutil.NoSuchProcess:  # a zombie too
        return []
    return words if words and words[0].endswith("triton_python_backend_stub") else []

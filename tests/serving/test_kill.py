"""Processes that die under load are back in time, and nothing fails after that."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from ensemble.profiles import STAGES
from tests.conftest import ROOT, RunningServer, running_server
from tests.serving.load import Load, load
from tests.serving.processes import alive, regions, stubs, stubs_of, tritonserver

CLIENTS = 8
QUIET_S = 3.0
STUB_S = 10.0
"""A stub that was killed is replaced within this, and its failures are over."""
SERVER_S = 20.0
"""The same for the server."""

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("mortal")) as running:
        yield running


@pytest.fixture
def clients(mortal: RunningServer) -> Iterator[Load]:
    """Eight clients that keep asking, none of them failed so far."""
    with load(mortal, CLIENTS) as running:
        running.wait_for_answers(quiet_s=0.5, timeout_s=STUB_S)
        assert running.errors == []
        yield running


@pytest.mark.parametrize("stage", [*STAGES, "preprocess"])
def test_a_stub_that_dies_is_replaced(mortal: RunningServer, clients: Load, stage: str) -> None:
    """Each stage in turn, and one again: what its first death left must not hide the second."""
    before, said = set(stubs(mortal)), mortal.said()
    killed = stubs_of(mortal, stage)[0]
    start_s = time.monotonic()
    killed.kill()
    clients.wait_for_answers(QUIET_S, timeout_s=STUB_S + QUIET_S)
    assert clients.last_failure_s - start_s < STUB_S
    assert set(stubs(mortal)) == before
    assert killed.pid not in {stub.pid for stub in stubs_of(mortal, stage)}
    assert f"a stub of {stage} is dead" in mortal.said()[len(said) :]
    assert {stat.S_IMODE(region.stat().st_mode) for region in regions(mortal)} == {0o600}


def test_health_tells_what_triton_does_not(mortal: RunningServer) -> None:
    """Triton calls a model ready whose process is dead; ``tandem health`` asks for an answer.

    This stub has died before: a second load of one model is what Triton ignores unless something
    has changed.
    """
    assert health(mortal).returncode == 0
    watcher = psutil.Process(mortal.process.pid)
    watcher.suspend()  # or the stub might be back before health has asked
    try:
        for stub in stubs_of(mortal, "postprocess"):
            stub.kill()
        failing = health(mortal)
    finally:
        watcher.send_signal(signal.SIGCONT)
    assert failing.returncode == 1
    assert "backend_failure" in failing.stderr
    assert "Traceback" not in failing.stderr
    start_s = time.monotonic()
    while health(mortal).returncode != 0:
        assert time.monotonic() - start_s < STUB_S


def test_a_server_that_dies_is_started_again(mortal: RunningServer, clients: Load) -> None:
    old = tritonserver(mortal)
    orphans = list(stubs(mortal).values())
    start_s = time.monotonic()
    old.kill()
    clients.wait_for_answers(QUIET_S, timeout_s=SERVER_S + QUIET_S)
    assert clients.last_failure_s - start_s < SERVER_S
    assert clients.errors, "expected failures while there was no server"
    assert tritonserver(mortal).pid != old.pid
    assert alive(orphans) == []
    assert len(regions(mortal)) == len(stubs(mortal))


def test_health_when_nothing_listens(mortal: RunningServer) -> None:
    """The gRPC port of a server speaks no HTTP; port 1 nobody has."""
    gone = health(mortal, "--url", "127.0.0.1:1")
    assert gone.returncode == 3
    assert "model_unavailable: http://127.0.0.1:1" in gone.stderr
    wrong_port = health(mortal, "--url", mortal.grpc)
    assert wrong_port.returncode == 3
    assert "Traceback" not in wrong_port.stderr
    assert health(mortal, "--model", "nobody").returncode == 3


def health(server: RunningServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools", "health", "--url", server.http, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

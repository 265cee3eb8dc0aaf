"""``serve`` that is killed can stop nothing itself; the kernel does it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.conftest import running_server
from tests.serving.processes import alive, stubs, tritonserver

pytestmark = pytest.mark.server


def test_a_killed_serve_leaves_no_server_behind(tmp_path: Path) -> None:
    with running_server(tmp_path, "--instances=1") as server:
        processes = [tritonserver(server), *stubs(server).values()]
        assert len(alive(processes)) == 4
        server.process.kill()
        deadline = time.monotonic() + 30
        while alive(processes):
            assert time.monotonic() < deadline, processes
            time.sleep(0.2)

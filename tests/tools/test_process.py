"""The log of a running server is kept small, and goes on."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from tools.serve import process
from tools.serve.process import ServerProcess

WRITER = "import time\nwhile True: print('a line', flush=True); time.sleep(0.01)"


def test_a_full_log_is_kept_once_and_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_file, kept = tmp_path / "tandem.log", tmp_path / "tandem.log.1"
    server = ServerProcess([sys.executable, "-c", WRITER], dict(os.environ), log_file, "none")
    try:
        wait_for_lines(log_file)
        server.limit_log()
        assert not kept.exists()
        monkeypatch.setattr(process, "MAX_LOG_BYTES", 10)
        for _ in range(2):
            wait_for_lines(log_file)
            server.limit_log()
        wait_for_lines(log_file)
    finally:
        server.kill()
    # No gap of zeros: the writer appends, wherever the file now ends.
    assert set(log_file.read_text().splitlines()) == {"a line"}
    assert set(kept.read_text().splitlines()) == {"a line"}
    assert kept.stat().st_mode & 0o077 == 0


def wait_for_lines(log_file: Path) -> None:
    deadline_s = time.monotonic() + 10
    while log_file.read_bytes().count(b"\n") < 2:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


NAME_ONLY = """
import subprocess, time
subprocess.Popen(["triton_python_backend_stub"], executable="/bin/cat", stdin=subprocess.PIPE)
print("begun", flush=True)
print("begun", flush=True)
time.sleep(60)
"""


def test_a_stub_that_shows_its_name_only_is_passed_over(tmp_path: Path) -> None:
    log_file = tmp_path / "tandem.log"
    server = ServerProcess([sys.executable, "-c", NAME_ONLY], dict(os.environ), log_file, "none")
    try:
        wait_for_lines(log_file)
        (child,) = psutil.Process(server.pid).children()
        assert child.cmdline() == ["triton_python_backend_stub"]
        assert server.stubs() == []
    finally:
        server.kill()

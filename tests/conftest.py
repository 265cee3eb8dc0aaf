"""What the tests share: a real server on the CPU, started once, and the sample photographs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.serve.ports import free_ports

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
START_TIMEOUT_S = 120.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-case",
        action="store_true",
        help="have the real server judge every repository of the validator's corpus, minutes",
    )


@dataclass(frozen=True)
class RunningServer:
    """A ``tandem serve`` of this test run."""

    process: subprocess.Popen[bytes]
    http_port: int
    grpc_port: int
    metrics_port: int
    token: str
    output: Path

    @property
    def http(self) -> str:
        return f"127.0.0.1:{self.http_port}"

    @property
    def grpc(self) -> str:
        return f"127.0.0.1:{self.grpc_port}"

    def said(self) -> str:
        return self.output.read_text(errors="replace")


@contextmanager
def running_server(folder: Path, *arguments: str) -> Iterator[RunningServer]:
    """``tandem serve`` with further arguments, ready; stopped with Ctrl-C at the end."""
    http_port, grpc_port, metrics_port = free_ports(3)
    token_file, output = folder / "token", folder / "output"
    command = [sys.executable, "-m", "tools", "serve", "--token-file", str(token_file)]
    command += [f"--http-port={http_port}", f"--grpc-port={grpc_port}"]
    command += [f"--metrics-port={metrics_port}", *arguments]
    with output.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while "READY" not in output.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the server did not start:\n{output.read_text(errors='replace')}")
            time.sleep(0.1)
        yield RunningServer(
            process,
            http_port,
            grpc_port,
            metrics_port,
            token_file.read_text().strip(),
            output,
        )
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The default profile on the CPU, shared by every test that leaves it as it was."""
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("TANDEM_"):
            monkeypatch.delenv(name)

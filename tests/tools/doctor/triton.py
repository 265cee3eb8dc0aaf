"""A real Triton, started as it is: ``tandem serve`` would not call one ready that has faults."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.serve.health import is_ready
from tools.serve.installation import embedded
from tools.serve.options import ServeOptions, command
from tools.serve.ports import free_ports
from tools.serve.process import ServerProcess

START_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Triton:
    """Where it listens, and its processes."""

    options: ServeOptions
    process: ServerProcess

    @property
    def grpc(self) -> str:
        return f"127.0.0.1:{self.options.grpc_port}"

    @property
    def metrics_url(self) -> str:
        return f"http://127.0.0.1:{self.options.metrics_port}"


@contextmanager
def running(folder: Path, repository: Path) -> Iterator[Triton]:
    """A server of this repository, ready; stopped at the end."""
    http, grpc, metrics = free_ports(3)
    options = ServeOptions(
        repository,
        "test-token",
        f"{folder.name}_",
        http_port=http,
        grpc_port=grpc,
        metrics_port=metrics,
    )
    installation = embedded(folder)
    environment = dict(os.environ | installation.environment)
    log = folder / "log"
    process = ServerProcess(command(installation, options), environment, log, options.shm_prefix)
    try:
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not is_ready(options.http_url):
            if process.exit_code() is not None or time.monotonic() > deadline_s:
                raise process.failure("the server did not start")
            time.sleep(0.1)
        yield Triton(options, process)
    finally:
        process.kill()  # nothing that is asked of it here is worth its long goodbye

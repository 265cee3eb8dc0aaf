"""The real server as a judge: does it load this model, and if not, why?"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.serve.installation import embedded
from tools.serve.ports import free_ports

START_TIMEOUT_S = 60.0
LOAD_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Judge:
    """A server with no model loaded, and the repository that it may load from."""

    repository: Path
    url: str
    log: Path

    def refuses(self, model: str, patience_s: float = LOAD_TIMEOUT_S) -> str:
        """Why the server does not load ``model``; empty where it does. It is unloaded again.

        Raises:
            OSError: no answer within the patience, or the server ended.
        """
        error = self._ask(model, "load", patience_s)
        if not error:
            self._ask(model, "unload", patience_s)
            return ""
        said = self.log.read_text(errors="replace")
        reasons = [line for line in said.splitlines() if line[:1] == "E" and model in line]
        return reasons[0] if reasons else error

    def _ask(self, model: str, verb: str, patience_s: float) -> str:
        request = urllib.request.Request(
            f"{self.url}/v2/repository/models/{model}/{verb}",
            data=json.dumps(
                {"parameters": {"unload_dependents": True} if verb == "unload" else {}}
            ).encode(),
            method="POST",
        )
        try:
            urllib.request.urlopen(request, timeout=patience_s).close()
        except urllib.error.HTTPError as error:
            return error.read().decode(errors="replace") or str(error)
        return ""


@contextmanager
def judge(folder: Path) -> Iterator[Judge]:
    """A bare ``tritonserver`` of the wheel; stopped at the end."""
    http, grpc, metrics = free_ports(3)
    repository, log = folder / "repository", folder / "log"
    repository.mkdir(parents=True)
    installation, shared = embedded(folder), f"judge{http}_"
    command = [
        str(installation.program),
        f"--model-repository={repository}",
        "--model-control-mode=explicit",
        f"--http-port={http}",
        f"--grpc-port={grpc}",
        f"--metrics-port={metrics}",
        "--http-address=127.0.0.1",
        "--grpc-address=127.0.0.1",
        "--metrics-address=127.0.0.1",
        f"--backend-config=python,shm-region-prefix-name={shared}",
        *installation.flags,
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=os.environ | installation.environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{http}"
        _wait(url, process)
        yield Judge(repository, url, log)
    finally:
        _stop(process)
        for region in Path("/dev/shm").glob(f"{shared}*"):
            region.unlink(missing_ok=True)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """A load that hangs can only be killed, and leaves its stubs behind."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=10)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/v2/health/ready", timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the judging server did not start")

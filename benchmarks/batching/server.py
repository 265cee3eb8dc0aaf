"""A real Triton for one measurement: started on free ports, asked for statistics, stopped."""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.batching.sleepers import Variant, write_repository
from ensemble.model_config import Deployment
from tools.serve import temporary
from tools.serve.options import ServeOptions
from tools.serve.process import ServerProcess
from tools.serve.serve import ServeRequest


@dataclass(frozen=True)
class Executions:
    """What one model executed.

    Attributes:
        by_size: executions by the number of images in them.
        busy_s: how long the model was executing.
    """

    by_size: dict[int, int]
    busy_s: float

    @property
    def count(self) -> int:
        """Executions."""
        return sum(self.by_size.values())

    @property
    def images(self) -> int:
        """Images in all of them."""
        return sum(size * count for size, count in self.by_size.items())

    def since(self, earlier: Executions) -> Executions:
        """Those that are here and not in ``earlier``."""
        by_size = {
            size: count - earlier.by_size.get(size, 0) for size, count in self.by_size.items()
        }
        return Executions({s: n for s, n in by_size.items() if n}, self.busy_s - earlier.busy_s)


@dataclass(frozen=True)
class Triton:
    """A running server.

    Attributes:
        http_url: of its HTTP port.
        grpc: host and port.
        process: the server and its stubs.
    """

    http_url: str
    grpc: str
    process: ServerProcess

    def version(self) -> str:
        """Of the server."""
        return str(self._get("/v2")["version"])

    def executions(self) -> dict[str, Executions]:
        """Of every model since the start. Source: Triton's statistics extension."""
        found = {}
        for row in self._get("/v2/models/stats")["model_stats"]:
            batches = row.get("batch_stats", [])
            found[row["name"]] = Executions(
                {int(b["batch_size"]): int(b["compute_infer"]["count"]) for b in batches},
                sum(int(b["compute_infer"]["ns"]) for b in batches) / 1e9,
            )
        return found

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self.http_url + path, timeout=10) as response:
            return json.loads(response.read())


@contextmanager
def running(variants: list[Variant], *extra: str) -> Iterator[Triton]:
    """A server of these variants, ready; stopped at the end.

    Args:
        variants: what it serves.
        extra: further flags of ``tritonserver``.

    Raises:
        BackendFailure: it did not become ready.
    """
    with tempfile.TemporaryDirectory(prefix="tandem-bench-") as folder:
        repository = Path(folder) / "repository"
        write_repository(repository, variants)
        options = ServeOptions(Path(), "", "", extra=extra)
        request = ServeRequest(Deployment(target="cpu"), options, repository)
        with temporary.running(request) as server:
            yield Triton(server.http_url, server.grpc, server.process)

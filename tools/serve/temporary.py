"""A server for one measurement: started on free ports and not watched, stopped at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ensemble.errors import ServingError
from tools.serve.installation import of_target
from tools.serve.ports import free_ports
from tools.serve.preflight import check_machine
from tools.serve.process import ServerProcess
from tools.serve.serve import Server, ServeRequest, Stopping, prepare, scratch


@dataclass(frozen=True)
class Running:
    """A server that is ready.

    Attributes:
        http_url: of its HTTP port, with scheme.
        grpc: host and port.
        metrics_url: of Prometheus.
        process: the server and its stubs.
    """

    http_url: str
    grpc: str
    metrics_url: str
    process: ServerProcess


@contextmanager
def running(request: ServeRequest) -> Iterator[Running]:
    """A server, ready; several may run at the same time. Its log is kept when something fails.

    Args:
        request: what to serve; its ports are replaced by free ones.

    Raises:
        ServingError: ContractMismatch when this machine lacks something, BackendFailure when the
            server did not become ready.
    """
    http, grpc, metrics = free_ports(3)
    ports = replace(request.options, http_port=http, grpc_port=grpc, metrics_port=metrics)
    check_machine(ports, request.deployment)
    with scratch() as folder, _kept_on_failure(folder.with_suffix(".log")) as log_file:
        options = prepare(replace(request, options=ports), folder)
        installation = of_target(request.deployment.target, folder)
        server = Server(installation, options, log_file, Stopping(), first_asked=None)
        try:
            server.start(request.ready_timeout_s)
            host = options.host
            metrics_url = f"http://{host}:{metrics}/metrics"
            yield Running(options.http_url, f"{host}:{grpc}", metrics_url, server.process)
        finally:
            server.stop()


@contextmanager
def _kept_on_failure(path: Path) -> Iterator[Path]:
    """A file that is removed at the end, unless an error names it."""
    is_named = False
    try:
        yield path
    except ServingError as error:
        is_named = str(path) in str(error)
        raise
    finally:
        if not is_named:
            path.unlink(missing_ok=True)

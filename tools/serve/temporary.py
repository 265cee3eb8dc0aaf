"""A server for one measurement: started on free ports and not watched, stopped at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tools.serve.installation import of_target
from tools.serve.ports import free_ports
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
        ServingError: ContractMismatch when the target is not installed here, BackendFailure when
            the server did not become ready.
    """
    http, grpc, metrics = free_ports(3)
    ports = replace(request.options, http_port=http, grpc_port=grpc, metrics_port=metrics)
    with scratch() as folder:
        options = prepare(replace(request, options=ports), folder)
        installation = of_target(request.deployment.target, folder)
        log_file = folder.with_suffix(".log")
        server = Server(installation, options, log_file, Stopping(), first_asked=None)
        try:
            server.start(request.ready_timeout_s)
            host = options.host
            metrics_url = f"http://{host}:{metrics}/metrics"
            yield Running(options.http_url, f"{host}:{grpc}", metrics_url, server.process)
        finally:
            server.stop()
    log_file.unlink()

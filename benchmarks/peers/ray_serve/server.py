"""Ray Serve: a replica a core, requests batched inside each replica."""

from __future__ import annotations

import os
import signal
from typing import Any

import ray
from ray import serve
from starlette.requests import Request

from benchmarks.peers.chain import Chain, settings

SETTINGS = settings()


@serve.deployment(
    num_replicas=SETTINGS["replicas"],
    max_ongoing_requests=64,
    logging_config={"enable_access_log": False},
)
class Classifier:
    """The chain behind ``serve.batch``."""

    def __init__(self) -> None:
        self.chain = Chain(SETTINGS["threads"])

    @serve.batch(
        max_batch_size=SETTINGS["max_batch_size"],
        batch_wait_timeout_s=SETTINGS["batch_wait_timeout_s"],
    )
    async def classify(self, images: list[bytes]) -> list[dict[str, Any]]:
        """Of a batch."""
        return self.chain(images)

    async def __call__(self, request: Request) -> dict[str, Any]:
        """Of one request, whose body is the photograph."""
        answer: dict[str, Any] = await self.classify(await request.body())
        return answer


if __name__ == "__main__":
    http, stats, metrics = SETTINGS["ports"]
    os.environ["RAY_SERVE_HAPROXY_STATS_PORT"] = str(stats)
    os.environ["RAY_SERVE_HAPROXY_METRICS_PORT"] = str(metrics)
    ray.init(include_dashboard=False, log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": http})
    serve.run(Classifier.bind(), route_prefix="/classify")  # type: ignore[attr-defined]
    signal.pause()

"""BentoML: a worker process a core, each with its own adaptive batching."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import bentoml
from pydantic import BeforeValidator, WithJsonSchema

from benchmarks.peers.chain import Chain, settings

SETTINGS = settings()
BATCHING: dict[str, Any] = {}
if SETTINGS["max_batch_size"] > 1:
    BATCHING |= {name: SETTINGS[name] for name in ("max_batch_size", "max_latency_ms")}
    BATCHING["batchable"] = True
# One raw body becomes a batch of one, which BentoML joins with others. Its guides have lists of
# files in a multipart form instead, which it writes to disk first; this is the faster way.
Photographs = Annotated[
    list[bytes],
    BeforeValidator(lambda body: [body] if isinstance(body, bytes) else body),
    WithJsonSchema({"type": "file", "format": "binary"}),
]


@bentoml.service(
    workers=SETTINGS["workers"],
    traffic={"timeout": 60},
    logging={"access": {"enabled": False}},
)
class Classifier:
    """The chain behind one batchable method."""

    def __init__(self) -> None:
        self.chain = Chain(SETTINGS["threads"])

    @bentoml.api(**BATCHING)
    def classify(self, images: Photographs, /) -> list[dict[str, Any]]:
        """Classes, scores and labels."""
        return self.chain(images)


if __name__ == "__main__":
    service = "benchmarks.peers.bentoml.server:Classifier"
    command = [sys.executable, "-m", "bentoml", "serve", service, "--host=127.0.0.1"]
    os.execv(sys.executable, [*command, "--port={}".format(SETTINGS["ports"][0])])

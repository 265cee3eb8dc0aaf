"""LitServe: a worker process a core, each of which takes its own batches."""

from typing import Annotated, Any

import litserve
import numpy as np
from fastapi import Body

from benchmarks.peers.chain import Array, Chain, settings

# LitServe hands this annotation to FastAPI as it stands, so here it must not become a string.
Photograph = Annotated[bytes, Body(media_type="image/jpeg")]
SETTINGS = settings()


class Classifier(litserve.LitAPI):
    """The steps of LitServe's guide to image classification; all but HTTP run in the workers."""

    def setup(self, device: str) -> None:
        """Once in each worker."""
        self.chain = Chain(SETTINGS["threads"])

    def decode_request(self, request: Photograph) -> Array:
        """Pixels of one photograph, the raw body."""
        return self.chain.pixels(request)

    def batch(self, inputs: list[Array]) -> Array:
        """Pixels of several."""
        return np.concatenate(inputs)

    def predict(self, x: Array) -> list[dict[str, Any]]:
        """Answers of a batch."""
        return self.chain.best(self.chain.logits(x))

    def unbatch(self, output: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """They are apart already."""
        return output


if __name__ == "__main__":
    api = Classifier(
        max_batch_size=SETTINGS["max_batch_size"],
        batch_timeout=SETTINGS["batch_timeout_s"],
        api_path="/classify",
    )
    server = litserve.LitServer(
        api,
        accelerator="cpu",
        workers_per_device=SETTINGS["workers"],
        fast_queue=SETTINGS["fast_queue"],
    )
    server.run(
        host="127.0.0.1",
        port=SETTINGS["ports"][0],
        num_api_servers=SETTINGS["api_servers"],
        log_level="warning",
        generate_client_file=False,
        access_log=False,
    )

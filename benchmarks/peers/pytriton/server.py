"""NVIDIA PyTriton: Triton in front, batches go to inference callables of this process."""

from __future__ import annotations

from typing import Any

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

from benchmarks.peers.chain import Array, Chain, settings

SETTINGS = settings()


def infer_func(chain: Chain) -> Any:
    """A callable for one instance."""

    @batch
    def classify(**inputs: Array) -> dict[str, Array]:
        answers = chain(inputs["IMAGE"][:, 0].tolist())
        return {
            "class_id": np.array([one["class_id"] for one in answers], np.int32),
            "score": np.array([one["score"] for one in answers], np.float32),
            "label": np.char.encode([one["label"] for one in answers], "utf-8"),
        }

    return classify


if __name__ == "__main__":
    http, grpc, metrics = SETTINGS["ports"]
    config = TritonConfig(
        http_address="127.0.0.1",
        http_port=http,
        grpc_address="127.0.0.1",
        grpc_port=grpc,
        metrics_port=metrics,
    )
    batcher = DynamicBatcher(max_queue_delay_microseconds=SETTINGS["max_queue_delay_microseconds"])
    with Triton(config=config) as triton:
        triton.bind(
            model_name="classifier",
            infer_func=[
                infer_func(Chain(SETTINGS["threads"])) for _ in range(SETTINGS["functions"])
            ],
            inputs=[Tensor(name="IMAGE", dtype=bytes, shape=(1,))],
            outputs=[
                Tensor(name="class_id", dtype=np.int32, shape=(5,)),
                Tensor(name="score", dtype=np.float32, shape=(5,)),
                Tensor(name="label", dtype=bytes, shape=(5,)),
            ],
            config=ModelConfig(max_batch_size=SETTINGS["max_batch_size"], batcher=batcher),
        )
        triton.serve()

"""What is checked, as the process that asks and the process that checks both know it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.validate.model.memory import ALLOWED_BASE_BYTES
from tools.validate.releases import RELEASES, Release, release

DEFAULT_MAX_BATCH_SIZE = 16
COMPLETED_MAX_BATCH_SIZE = 4
"""Source: default-max-batch-size, which Triton's core gives to backends."""


@dataclass(frozen=True)
class ModelUnderTest:
    """An ONNX file, and what it is meant for.

    Attributes:
        path: the ONNX file; its external data lie beside it.
        config: Triton's ``ModelConfig`` message of its ``config.pbtxt``, if there is one.
        max_batch_size: overrides the configuration's; 0 means that it need not batch.
        release: the Triton that is to load it.
        run: whether to run it in ONNX Runtime; without, only what is written is checked.
        reference: another model that it has to agree with, at the batch that this one declares.
        memory_bytes: what the check may take besides thrice the model; more runs larger batches.
        time_limit_s: after which the check is ended.
    """

    path: Path
    config: Any = None
    max_batch_size: int | None = None
    release: Release = RELEASES[-1]
    run: bool = True
    reference: Path | None = None
    memory_bytes: int = ALLOWED_BASE_BYTES
    time_limit_s: float = 120.0

    @property
    def largest_batch(self) -> int:
        """The most rows of a batch; 0 if the model is configured not to batch."""
        if self.max_batch_size is not None:
            return self.max_batch_size
        return DEFAULT_MAX_BATCH_SIZE if self.config is None else int(self.config.max_batch_size)

    @property
    def is_completed(self) -> bool:
        """Whether the onnxruntime backend chooses the largest batch from what the file declares.

        Source: AutoCompleteConfig in onnxruntime.cc; it does nothing where both lists are written.
        """
        config = self.config
        if config is None or self.largest_batch:
            return False
        is_another = config.backend not in ("", "onnxruntime")
        is_another |= config.platform not in ("", "onnxruntime_onnx")
        return not is_another and not ((config.input or config.batch_input) and config.output)


def encode(model: ModelUnderTest) -> str:
    """The request as one line of JSON."""
    config = model.config and base64.b64encode(model.config.SerializeToString()).decode()
    return json.dumps(
        {
            "path": str(model.path.absolute()),
            "reference": model.reference and str(model.reference.absolute()),
            "config": config,
            "max_batch_size": model.max_batch_size,
            "release": model.release.container,
            "run": model.run,
            "memory_bytes": model.memory_bytes,
        }
    )


def decode(line: str) -> ModelUnderTest:
    """The request of such a line; the time limit stays with the process that asked."""
    fields = json.loads(line)
    config = None
    if fields["config"] is not None:
        from tritonclient.grpc.model_config_pb2 import ModelConfig

        config = ModelConfig.FromString(base64.b64decode(fields["config"]))
    return ModelUnderTest(
        Path(fields["path"]),
        config,
        fields["max_batch_size"],
        release(fields["release"]),
        fields["run"],
        fields["reference"] and Path(fields["reference"]),
        fields["memory_bytes"],
    )

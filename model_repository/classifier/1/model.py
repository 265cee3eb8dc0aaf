"""The classifier where Triton has no ONNX Runtime backend: the same file, in Python's backend.

Triton's ``onnxruntime`` backend takes ``model.onnx`` and leaves this file alone.
"""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from classifier.session import BatchSession
from ensemble.adapter import execute
from ensemble.tensors import LEVELS
from ensemble.transform import Transform


class TritonPythonModel:
    """Named so by Triton."""

    def initialize(self, args):
        """Open the model beside this file."""
        config = json.loads(args["model_config"])
        here = Path(__file__).parent
        as_levels = config["input"][0]["data_type"] == LEVELS
        self.stage = BatchSession(
            here / "model.onnx",
            config,
            num_threads=int(config["parameters"]["num_threads"]["string_value"]),
            transform=Transform.from_file(here / "transform.json") if as_levels else None,
        )

    def execute(self, requests):
        """LOGITS, one response a request."""
        return execute(pb_utils, requests, self.stage.input_name, self.stage)

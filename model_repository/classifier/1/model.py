"""The classifier where Triton has no ONNX Runtime backend: the same file, in Python's backend.

Triton's ``onnxruntime`` backend takes ``model.onnx`` and leaves this file alone.
"""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from classifier.session import BatchSession
from ensemble.adapter import execute


class TritonPythonModel:
    """Named so by Triton."""

    def initialize(self, args):
        """Open the model beside this file."""
        config = json.loads(args["model_config"])
        self.stage = BatchSession(
            Path(__file__).with_name("model.onnx"),
            config,
            num_threads=int(config["parameters"]["num_threads"]["string_value"]),
        )

    def execute(self, requests):
        """LOGITS, one response a request."""
        return execute(pb_utils, requests, self.stage.input_name, self.stage)

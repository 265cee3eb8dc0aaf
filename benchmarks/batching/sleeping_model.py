"""A stage that takes time and does nothing: it becomes ``1/model.py`` of a rendered repository.

An execution of n requests sleeps a + c*n, as a GPU would be busy, and leaves the cores alone.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Named so by Triton."""

    def initialize(self, args: dict[str, str]) -> None:
        """Read the cost of an execution."""
        parameters = json.loads(args["model_config"])["parameters"]
        self._a_s = float(parameters["a_ms"]["string_value"]) / 1e3
        self._c_s = float(parameters["c_ms"]["string_value"]) / 1e3
        self._name = json.loads(args["model_config"])["output"][0]["name"]

    def execute(self, requests: list[Any]) -> list[Any]:
        """Sleep once for all; every answer is one zero."""
        ends_s = time.monotonic() + self._a_s + self._c_s * len(requests)
        answers = [
            pb_utils.InferenceResponse([pb_utils.Tensor(self._name, np.zeros((1, 1), np.uint8))])
            for _ in requests
        ]
        time.sleep(max(0.0, ends_s - time.monotonic()))
        return answers

"""Triton's door to ``postprocess``: LOGITS to the best classes, one call a batch."""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from ensemble.adapter import execute
from ensemble.tensors import answers, check_declared, logits
from postprocess.answer import Answerer
from postprocess.labels import load_labels
from postprocess.scores import ranking


class TritonPythonModel:
    """Named so by Triton."""

    def initialize(self, args):
        """Read the names and check them against the configuration."""
        config = json.loads(args["model_config"])
        classes = int(config["input"][0]["dims"][0])
        top_k = int(config["output"][0]["dims"][0])
        data_type = config["input"][0]["data_type"]
        kind = config["parameters"].get("scores", {}).get("string_value", "softmax")
        check_declared(config["input"], (logits(classes, data_type),))
        check_declared(config["output"], answers(top_k))
        labels = load_labels(Path(__file__).with_name("labels.txt"), classes)
        self.stage = Answerer(labels, top_k, ranking(kind, data_type))

    def execute(self, requests):
        """The best classes, one response a request."""
        return execute(pb_utils, requests, "LOGITS", self.stage)

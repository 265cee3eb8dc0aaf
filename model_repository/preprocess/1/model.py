"""Triton's door to ``preprocess``: encoded images to PIXELS, one call a batch."""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from ensemble.adapter import execute
from ensemble.tensors import IMAGE, LEVELS, check_declared, levels, pixels
from ensemble.transform import Transform
from preprocess.decode import Preprocessor
from preprocess.guard import Limits


class TritonPythonModel:
    """Named so by Triton."""

    def initialize(self, args):
        """Build the stage from the configuration."""
        config = json.loads(args["model_config"])
        transform = Transform.from_file(Path(__file__).with_name("transform.json"))
        check_declared(config["input"], (IMAGE,))
        as_levels = config["output"][0]["data_type"] == LEVELS
        handed_on = levels(transform) if as_levels else pixels(transform)
        check_declared(config["output"], (handed_on,))
        settings = {name: p["string_value"] for name, p in config["parameters"].items()}
        on_gpu = args["model_instance_kind"] == "GPU"
        self.stage = Preprocessor(
            transform,
            Limits.from_parameters(settings),
            batch_size=max(1, config["max_batch_size"]),
            num_threads=int(settings["num_threads"]),
            device_id=int(args["model_instance_device_id"]) if on_gpu else None,
            as_levels=as_levels,
        )

    def execute(self, requests):
        """PIXELS, one response a request."""
        return execute(pb_utils, requests, IMAGE.name, self.stage)

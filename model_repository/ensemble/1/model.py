"""All stages in one model, for a CPU whose cores they share: encoded images to the best classes.

Triton leaves this file alone where ``ensemble`` is an ensemble.
"""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from classifier.session import BatchSession
from ensemble.adapter import execute
from ensemble.errors import ServingError
from ensemble.tensors import IMAGE, answers, check_declared
from ensemble.transform import Transform
from postprocess.answer import Answerer
from postprocess.labels import load_labels
from postprocess.scores import ranking
from preprocess.decode import Preprocessor
from preprocess.guard import Limits


class TritonPythonModel:
    """Named so by Triton."""

    def initialize(self, args):
        """Build the stages from the configuration and the files beside this one."""
        config = json.loads(args["model_config"])
        settings = {name: p["string_value"] for name, p in config["parameters"].items()}
        top_k = int(config["output"][0]["dims"][0])
        check_declared(config["input"], (IMAGE,))
        check_declared(config["output"], answers(top_k))
        here = Path(__file__).parent
        transform = Transform.from_file(here / "transform.json")
        batch_size = max(1, config["max_batch_size"])
        self.preprocess = Preprocessor(
            transform, Limits.from_parameters(settings), batch_size, as_levels=True
        )
        pixels = {"name": settings["classifier_input"], "dims": transform.pixels_shape}
        ends = {"input": [pixels], "output": [{"name": settings["classifier_output"]}]}
        self.classifier = BatchSession(
            here / "classifier.onnx",
            ends | {"max_batch_size": batch_size},
            num_threads=int(settings["num_threads"]),
            transform=transform,
        )
        labels = load_labels(here / "labels.txt", int(settings["classes"]))
        rank = ranking(settings["scores"], settings["classifier_output_type"])
        self.postprocess = Answerer(labels, top_k, rank)

    def execute(self, requests):
        """The best classes, one response a request."""
        return execute(pb_utils, requests, IMAGE.name, self.stage)

    def stage(self, inputs):
        """All three in turn; a request that one of them refuses goes no further."""
        results = self.preprocess(inputs)
        for stage in (self.classifier, self.postprocess):
            good = [n for n, one in enumerate(results) if not isinstance(one, ServingError)]
            if good:
                given = [next(iter(results[n].values())) for n in good]
                for n, outputs in zip(good, stage(given), strict=True):
                    results[n] = outputs
        return results

"""ONNX Runtime on the CPU as a batched stage: what the ``onnxruntime`` backend is on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from ensemble.adapter import split_rows
from ensemble.errors import ContractMismatch
from ensemble.tensors import NUMPY_NAMES

Array = np.ndarray[Any, Any]


class BatchSession:
    """A classifier, one run a batch.

    Attributes:
        input_name: the model's only input.
        output_name: the one of its outputs that is used.
    """

    def __init__(self, path: Path, config: Mapping[str, Any], num_threads: int) -> None:
        self.input_name = str(config["input"][0]["name"])
        self.output_name = str(config["output"][0]["name"])
        self._session = open_session(path, num_threads)
        inputs = [i.name for i in self._session.get_inputs()]
        outputs = [o.name for o in self._session.get_outputs()]
        if inputs != [self.input_name] or self.output_name not in outputs:
            raise ContractMismatch(
                f"{path}: config.pbtxt declares {self.input_name} and {self.output_name}, "
                f"the model has {inputs} and {outputs}"
            )
        # Batches are gathered here: fresh memory for each would cost more than the copy itself.
        dims = [int(d) for d in config["input"][0]["dims"]]
        dtype = NUMPY_NAMES[config["input"][0]["data_type"]]
        self._batch: Array = np.empty((max(1, int(config["max_batch_size"])), *dims), dtype)

    def __call__(self, inputs: Sequence[Array]) -> list[dict[str, Array]]:
        """Outputs, one a request.

        Args:
            inputs: (images, ...) of the configured dtype, one array a request.
        """
        sizes = [len(array) for array in inputs]
        batch = self._gather(inputs, sum(sizes))
        (rows,) = self._session.run([self.output_name], {self.input_name: batch})
        return [{self.output_name: part} for part in split_rows(rows, sizes)]

    def _gather(self, inputs: Sequence[Array], images: int) -> Array:
        if len(inputs) == 1:
            return inputs[0]
        return np.concatenate(inputs, out=self._batch[:images])


def open_session(path: Path, num_threads: int) -> Any:
    """A session that does not spin while it waits, since other stages share its cores."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

"""ONNX Runtime on the CPU as a batched stage: what the ``onnxruntime`` backend is on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from classifier.normalise import normalise
from ensemble.adapter import split_rows
from ensemble.errors import ContractMismatch
from ensemble.tensors import NUMPY_NAMES
from ensemble.transform import Transform

Array = np.ndarray[Any, Any]


class BatchSession:
    """A classifier, one run a batch.

    Attributes:
        input_name: the model's only input.
        output_name: the one of its outputs that is used.
    """

    def __init__(
        self,
        path: Path,
        config: Mapping[str, Any],
        num_threads: int,
        transform: Transform | None = None,
    ) -> None:
        """A stage.

        Args:
            path: the ONNX file.
            config: the model configuration, as Triton's JSON has it.
            num_threads: of ONNX Runtime.
            transform: normalises inputs that are levels; None where they come normalised.
        """
        self._transform = transform
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
        declared = config["input"][0]
        dims = [int(d) for d in declared["dims"]]
        dtype = NUMPY_NAMES[f"TYPE_{transform.dtype}" if transform else declared["data_type"]]
        self._batch: Array = np.empty((max(1, int(config["max_batch_size"])), *dims), dtype)

    def __call__(self, inputs: Sequence[Array]) -> list[dict[str, Array]]:
        """Outputs, one a request.

        Args:
            inputs: (images, ...) of the configured dtype, one array a request.
        """
        sizes = [len(array) for array in inputs]
        batch = self._gather(inputs, sizes)
        (rows,) = self._session.run([self.output_name], {self.input_name: batch})
        return [{self.output_name: part} for part in split_rows(rows, sizes)]

    def _gather(self, inputs: Sequence[Array], sizes: Sequence[int]) -> Array:
        batch = self._batch[: sum(sizes)]
        if self._transform is None:
            return inputs[0] if len(inputs) == 1 else np.concatenate(inputs, out=batch)
        for levels, rows in zip(inputs, split_rows(batch, sizes), strict=True):
            normalise(levels, self._transform, out=rows)
        return batch


def open_session(path: Path, num_threads: int) -> Any:
    """A session that does not spin while it waits, since other stages share its cores."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

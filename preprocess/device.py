"""Rows of a DALI batch without a copy, wherever the batch lives."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class _DeviceRows:
    """Some rows of a dense GPU batch, described by the CUDA array interface.

    Keeps the batch alive; DALI's own tensors have no slicing.
    """

    def __init__(self, batch: Any, start: int, stop: int) -> None:
        self._batch = batch
        shape = (stop - start, *batch.shape()[1:])
        typestr = batch.__cuda_array_interface__["typestr"]
        row_bytes = np.dtype(typestr).itemsize * int(np.prod(shape[1:]))
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (batch.data_ptr() + start * row_bytes, False),
            "version": 3,
            "strides": None,
        }


def rows_of(batch: Any, start: int, stop: int) -> Any:
    """Rows ``start`` to ``stop`` of a dense batch, sharing its memory.

    Args:
        batch: a numpy array, or DALI's TensorCPU or TensorGPU, (batch, ...) float32 or float16.
        start: first row.
        stop: one after the last row.

    Returns:
        A numpy array for a batch on the host; a TensorGPU, which speaks DLPack, on a device.
    """
    if hasattr(batch, "__cuda_array_interface__"):
        from nvidia.dali.backend import TensorGPU

        return TensorGPU(_DeviceRows(batch, start, stop), device_id=batch.device_id())
    return host_array(batch)[start:stop]


def host_array(batch: Any) -> Array:
    """The batch as a numpy array; copied only when it lives on a device."""
    return np.asarray(batch.as_cpu() if hasattr(batch, "__cuda_array_interface__") else batch)

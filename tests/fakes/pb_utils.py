"""A stand-in for ``triton_python_backend_utils``: only what our stages use."""

from __future__ import annotations

from typing import Any

import numpy as np


class TritonError(Exception):
    INVALID_ARG = "INVALID_ARG"
    UNAVAILABLE = "UNAVAILABLE"
    INTERNAL = "INTERNAL"

    def __init__(self, message: str, code: str = "INTERNAL") -> None:
        super().__init__(message)
        self.code = code


class Tensor:
    def __init__(self, name: str, array: np.ndarray) -> None:
        self._name, self._array = name, array

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> np.ndarray:
        return self._array

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    @staticmethod
    def from_dlpack(name: str, value: Any) -> Tensor:
        return Tensor(name, np.from_dlpack(value))


class InferenceRequest:
    def __init__(self, **tensors: np.ndarray) -> None:
        self.tensors = {name: Tensor(name, array) for name, array in tensors.items()}


class InferenceResponse:
    def __init__(self, output_tensors: list[Tensor], error: TritonError | None = None) -> None:
        self.outputs = {tensor.name(): tensor.as_numpy() for tensor in output_tensors}
        self.error = error


def get_input_tensor_by_name(request: InferenceRequest, name: str) -> Tensor | None:
    return request.tensors.get(name)


def serialize_byte_tensor(strings: np.ndarray) -> bytes:
    return b"".join(len(s).to_bytes(4, "little") + s for s in strings.ravel())

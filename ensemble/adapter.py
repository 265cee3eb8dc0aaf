"""Between Triton's Python backend and a stage's own batched call.

``model.py`` passes ``triton_python_backend_utils`` in, so this file runs in tests with a fake.
All requests of one execution go into **one** call; each request gets exactly one response, in
order; a request that is wrong fails alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ensemble import numpy2
from ensemble.errors import BackendFailure, ServingError

Array = np.ndarray[Any, Any]
Outputs = Mapping[str, Any]
"""Output name to a numpy array, or to anything that speaks DLPack (a GPU tensor)."""
BatchedCall = Callable[[list[Array]], Sequence[Outputs | ServingError]]
"""Input arrays in, one an request; outputs or an error out, one a request, same order."""

log = logging.getLogger(__name__)


def execute(
    pb_utils: Any, requests: Sequence[Any], input_name: str, call: BatchedCall
) -> list[Any]:
    """One response a request, in order.

    Args:
        pb_utils: the module ``triton_python_backend_utils``.
        requests: what Triton's batcher put together for this execution.
        input_name: the stage's only input.
        call: the stage. An exception that it raises, rather than returns, fails the whole batch.
    """
    try:
        # DLPack shares the server's memory; as_numpy() would copy every input.
        inputs = [
            np.from_dlpack(pb_utils.get_input_tensor_by_name(request, input_name))
            for request in requests
        ]
        results = call(inputs)
        if len(results) != len(requests):
            raise BackendFailure(f"expected {len(requests)} results, got {len(results)}")
    except Exception as error:  # the outermost edge: log the trace, tell the clients the cause
        log.exception("a batch of %d requests failed", len(requests))
        cause = error if isinstance(error, ServingError) else BackendFailure("see the server's log")
        results = [cause] * len(requests)
    return [_response(pb_utils, result) for result in results]


def _response(pb_utils: Any, result: Outputs | ServingError) -> Any:
    if isinstance(result, ServingError):
        code = getattr(pb_utils.TritonError, result.triton_code)
        error = pb_utils.TritonError(f"{result.label}: {result}", code)
        return pb_utils.InferenceResponse(output_tensors=[], error=error)
    return pb_utils.InferenceResponse([_tensor(pb_utils, *item) for item in result.items()])


def _tensor(pb_utils: Any, name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            numpy2.patch_strings(pb_utils)
            return pb_utils.Tensor(name, value)
        return pb_utils.Tensor(name, numpy2.readable(value))
    return pb_utils.Tensor.from_dlpack(name, value)


def split_rows(rows: Array, sizes: Sequence[int]) -> list[Array]:
    """Views of ``rows`` (batch, ...), one a request of ``sizes[i]`` rows each."""
    return [rows[stop - n : stop] for n, stop in zip(sizes, accumulate(sizes), strict=True)]

"""One call a batch, one response a request, in order, whatever the stage does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ensemble.adapter import execute, split_rows
from ensemble.errors import InvalidInput
from tests.fakes import pb_utils


def requests(*sizes: int) -> list[pb_utils.InferenceRequest]:
    return [
        pb_utils.InferenceRequest(X=np.full((size, 2), number, np.float32))
        for number, size in enumerate(sizes)
    ]


def test_all_requests_go_into_one_call_and_come_back_in_order() -> None:
    calls = []

    def stage(inputs: list[np.ndarray]) -> list[dict[str, np.ndarray]]:
        calls.append([len(array) for array in inputs])
        return [{"Y": array + 1} for array in inputs]

    responses = execute(pb_utils, requests(1, 3, 2), "X", stage)
    assert calls == [[1, 3, 2]]
    for number, (response, size) in enumerate(zip(responses, (1, 3, 2), strict=True)):
        assert response.error is None
        np.testing.assert_array_equal(response.outputs["Y"], np.full((size, 2), number + 1))


def test_a_wrong_request_fails_alone_with_its_cause_and_code() -> None:
    def stage(inputs: list[np.ndarray]) -> list[object]:
        return [InvalidInput("not an image") if x[0, 0] == 1 else {"Y": x} for x in inputs]

    good, bad, other = execute(pb_utils, requests(1, 1, 1), "X", stage)  # type: ignore[arg-type]
    assert good.error is None
    assert other.error is None
    assert bad.error.code == "INVALID_ARG"
    assert str(bad.error) == "invalid_input: not an image"


def test_an_exception_fails_the_batch_without_telling_clients_the_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def stage(inputs: list[np.ndarray]) -> Sequence[dict[str, np.ndarray]]:
        raise RuntimeError("secret detail")

    responses = execute(pb_utils, requests(1, 1), "X", stage)
    assert [response.error.code for response in responses] == ["INTERNAL", "INTERNAL"]
    assert "secret detail" not in str(responses[0].error)
    assert "secret detail" in caplog.text


def test_a_stage_that_loses_a_result_is_our_failure_and_still_answers_everybody() -> None:
    responses = execute(pb_utils, requests(1, 1, 1), "X", lambda inputs: [{"Y": inputs[0]}])
    assert len(responses) == 3
    assert all("expected 3 results, got 1" in str(response.error) for response in responses)


def test_rows_are_split_by_request() -> None:
    parts = split_rows(np.arange(6), [1, 3, 2])
    assert [part.tolist() for part in parts] == [[0], [1, 2, 3], [4, 5]]

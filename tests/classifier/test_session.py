"""ONNX Runtime as a stage, for any classifier: names, types, and which of its outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from classifier.session import BatchSession, open_session
from ensemble.errors import ContractMismatch
from ensemble.transform import Transform
from tests.importer.networks import save, small


def config(taken: str = "image:0", given: str = "scores:0", kind: str = "TYPE_FP32") -> Any:
    image = {"name": taken, "data_type": kind, "dims": ["32", "32", "3"]}
    return {"max_batch_size": 8, "input": [image], "output": [{"name": given}]}


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("output", ["scores:0", "features"])
def test_a_batch_of_requests_equals_each_alone(
    tmp_path: Path, dtype: type[np.floating], output: str
) -> None:
    path = save(small(dtype=dtype, image=("N", 32, 32, 3)), tmp_path / "m.onnx")
    kind = {np.float32: "TYPE_FP32", np.float16: "TYPE_FP16"}[dtype]
    stage = BatchSession(path, config(given=output, kind=kind), num_threads=1)
    rng = np.random.default_rng(0)
    requests = [rng.normal(size=(n, 32, 32, 3)).astype(dtype) for n in (1, 3, 2)]
    answers = stage(requests)
    session = open_session(path, num_threads=1)
    for request, answer in zip(requests, answers, strict=True):
        (expected,) = session.run([output], {"image:0": request})
        assert answer[output].dtype == dtype
        # Sums of 8 and 27 terms near 1 may be rounded in another order.
        allowed = 8 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(answer[output], expected, rtol=allowed, atol=allowed)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_levels_are_normalised_for_the_model(tmp_path: Path, dtype: type[np.floating]) -> None:
    path = save(small(dtype=dtype, image=("N", 32, 32, 3)), tmp_path / "m.onnx")
    kind = {np.float32: "FP32", np.float16: "FP16"}[dtype]
    transform = Transform(
        resize_shorter=32, crop_height=32, crop_width=32, layout="HWC", dtype=kind
    )
    stage = BatchSession(path, config(kind="TYPE_UINT8"), num_threads=1, transform=transform)
    rng = np.random.default_rng(0)
    requests = [rng.integers(0, 256, (n, 32, 32, 3), np.uint8) for n in (1, 3, 2)]
    session = open_session(path, num_threads=1)
    for request, answer in zip(requests, stage(requests), strict=True):
        pixels = ((request.astype(np.float32) - 127) / 128).astype(dtype)
        (expected,) = session.run(["scores:0"], {"image:0": pixels})
        # Sums of 27 terms near 1 may be rounded in another order.
        allowed = 8 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(answer["scores:0"], expected, rtol=allowed, atol=allowed)
    one = stage(requests[:1])[0]["scores:0"]
    assert np.abs(one - stage([255 - requests[0]])[0]["scores:0"]).max() > allowed


@pytest.mark.parametrize("wrong", [{"taken": "PIXELS"}, {"given": "LOGITS"}])
def test_a_configuration_of_other_names_is_refused(tmp_path: Path, wrong: Any) -> None:
    path = save(small(), tmp_path / "m.onnx")
    with pytest.raises(ContractMismatch, match=r"the model has \['image:0'\]"):
        BatchSession(path, config(**wrong), num_threads=1)

"""Triton releases by either number."""

from __future__ import annotations

from itertools import pairwise

import onnx
import onnxruntime
import pytest

from ensemble.errors import ContractMismatch
from tests.validate.zoo import Sketch, node
from tools.validate.releases import RELEASES, Takes, release, takes


@pytest.mark.parametrize("text", ["24.10", "24.10-py3", "2.51", "2.51.0", "v2.51.0", " 24.10 "])
def test_either_number(text: str) -> None:
    found = release(text)
    assert (found.container, found.server, found.onnxruntime) == ("24.10", "2.51.0", "1.19.2")
    assert found.takes == Takes(opset=21, ir_version=10)


@pytest.mark.parametrize("text", ["24.13", "2.51.7", "25", "", "latest", "0"])
def test_an_unknown_one_names_the_range(text: str) -> None:
    with pytest.raises(ContractMismatch, match=r"24\.04 \(2\.45\.0\) to 26\.08"):
        release(text)


def test_the_nearest_are_named() -> None:
    with pytest.raises(ContractMismatch, match=r"nearest: .*24\.1"):
        release("24.13")


def test_numbers_only_grow() -> None:
    rows = [(one.container, one.takes.opset, one.takes.ir_version) for one in RELEASES]
    assert rows == sorted(rows)
    for older, newer in pairwise(rows):
        assert older[1] <= newer[1]
        assert older[2] <= newer[2]


def test_the_runtime_here_takes_what_the_table_says_and_no_more() -> None:
    here = takes(onnxruntime.__version__)
    assert here is not None
    onnxruntime.set_default_logger_severity(4)
    assert loads(here.opset, here.ir_version)
    assert not loads(here.opset + 1, here.ir_version)
    assert not loads(here.opset, here.ir_version + 1)


def loads(opset: int, ir_version: int) -> bool:
    sketch = Sketch([node("Relu", "x", "y")], opset=opset, ir_version=ir_version)
    model: onnx.ModelProto = sketch.model()
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:  # onnxruntime's errors have no common base
        return False
    return True

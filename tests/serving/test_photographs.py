"""Known photographs through the whole chain: the right classes, and answers in the right form."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import ROOT, SAMPLES, RunningServer
from tests.serving.clients import PROTOCOLS, connect
from tests.serving.pictures import stack

# ImageNet: tabby, tiger cat, Egyptian cat; espresso; missile.
PHOTOGRAPHS = {
    "chelsea.png": {281, 282, 285},
    "coffee.png": {967},
    "rocket.jpg": {657},
}
LABELS = (ROOT / "model_repository" / "postprocess" / "1" / "labels.txt").read_text("utf-8")
TOP_K = 5

pytestmark = pytest.mark.server


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_a_photograph_is_recognised(server: RunningServer, protocol: str, name: str) -> None:
    with connect(server, protocol) as client:
        outputs = client.infer("ensemble", stack([(SAMPLES / name).read_bytes()]))
    assert {(key, rows.shape) for key, rows in outputs.items()} == {
        (key, (1, TOP_K)) for key in ("CLASS_ID", "SCORE", "LABEL")
    }
    class_ids, scores, labels = (outputs[key][0] for key in ("CLASS_ID", "SCORE", "LABEL"))
    assert class_ids[0] in PHOTOGRAPHS[name]
    assert class_ids.dtype == np.int32
    assert len(set(class_ids)) == TOP_K
    assert scores.dtype == np.float32
    assert list(scores) == sorted(scores, reverse=True)
    assert scores.min() > 0
    assert scores.sum() <= 1
    names = LABELS.splitlines()
    assert [label.decode() for label in labels] == [names[number] for number in class_ids]


def test_both_protocols_answer_alike(server: RunningServer) -> None:
    image = stack([(SAMPLES / name).read_bytes() for name in PHOTOGRAPHS])
    with connect(server, "grpc") as grpc, connect(server, "http") as http:
        over_grpc, over_http = (client.infer("ensemble", image) for client in (grpc, http))
    for name, rows in over_grpc.items():
        np.testing.assert_array_equal(over_http[name], rows)

"""All stages in one model: what comes back is what three stages give."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from tests.conftest import RunningServer, running_server
from tests.preprocess.test_decode import request
from tests.serving.clients import PROTOCOLS, connect, outcomes
from tests.serving.load import load
from tests.serving.processes import stubs_of
from tests.serving.test_bad_input import BAD, GOOD

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def fused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("fused"), "--fused") as running:
        yield running


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_answers_are_those_of_three_stages(
    server: RunningServer, fused: RunningServer, protocol: str
) -> None:
    several = request(*GOOD)
    with connect(server, protocol) as three, connect(fused, protocol) as one:
        expected, got = three.infer("ensemble", several), one.infer("ensemble", several)
    np.testing.assert_array_equal(got["LABEL"], expected["LABEL"])
    np.testing.assert_array_equal(got["CLASS_ID"], expected["CLASS_ID"])
    np.testing.assert_allclose(got["SCORE"], expected["SCORE"], rtol=1e-4, atol=1e-6)


def test_bad_images_fail_alone_and_are_told_why(fused: RunningServer) -> None:
    bad = {kind: make() for kind, (make, _) in BAD.items()}
    with connect(fused, "grpc") as client:
        expected = [client.infer("ensemble", request(image))["SCORE"] for image in GOOD]
        results = outcomes(client, "ensemble", [request(one) for one in (*bad.values(), *GOOD)])
    for (kind, (_, says)), result in zip(BAD.items(), results, strict=False):
        assert isinstance(result, InferenceServerException), kind
        assert says in result.message(), kind
    for result, wanted in zip(results[len(bad) :], expected, strict=True):
        np.testing.assert_allclose(result["SCORE"], wanted, rtol=1e-4, atol=1e-6)


def test_its_stubs_are_replaced_when_they_die(fused: RunningServer) -> None:
    with load(fused, 4) as clients:
        clients.wait_for_answers(quiet_s=0.5, timeout_s=10.0)
        killed = stubs_of(fused, "ensemble")
        killed[0].kill()
        clients.wait_for_answers(quiet_s=1.0, timeout_s=15.0)
    assert "a stub of ensemble is dead" in fused.said()
    assert killed[0].pid not in {stub.pid for stub in stubs_of(fused, "ensemble")}

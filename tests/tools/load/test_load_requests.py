"""Requests say what the class says, in both protocols, and come in the shares of the mix."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.grpc import service_pb2

from ensemble.errors import ContractMismatch
from tools.client.transport import padded
from tools.load.loads import ClosedLoop, RequestClass, Run
from tools.load.requests import (
    HttpRequest,
    Question,
    bytes_request,
    encoded,
    grpc_request,
    http_request,
    post_request,
)

IMAGES = [b"\xff\xd8 first", b"\xff\xd8 another"]
ROWS = padded(IMAGES)
ASKED = Question("ensemble", priority=2, timeout_ms=1.5)


def run_of(*mix: RequestClass, protocol: str = "grpc", seed: int = 0) -> Run:
    return Run(protocol, "host:1", "ensemble", ClosedLoop(1), 1.0, mix, seed)


def message(payload: object) -> service_pb2.ModelInferRequest:
    assert isinstance(payload, bytes)
    return service_pb2.ModelInferRequest.FromString(payload)


def test_a_grpc_request_is_what_tritons_client_sends() -> None:
    image = tritonclient.grpc.InferInput("IMAGE", list(ROWS.shape), "UINT8")
    image.set_data_from_numpy(ROWS)
    made = tritonclient.grpc._utils._get_inference_request(
        model_name="ensemble", inputs=[image], model_version="", request_id="", outputs=None,
        sequence_id=0, sequence_start=False, sequence_end=False, priority=2, timeout=1500,
        parameters=None,
    )  # fmt: skip
    ours = message(grpc_request(ASKED, ROWS))
    assert ours.parameters["timeout"].int64_param == made.parameters["timeout"].int64_param == 1500
    assert ours.parameters["priority"].int64_param == made.parameters["priority"].uint64_param == 2
    made.parameters.clear()
    ours.parameters.clear()
    assert ours == made


def test_an_http_request_is_what_tritons_client_sends() -> None:
    image = tritonclient.http.InferInput("IMAGE", list(ROWS.shape), "UINT8")
    image.set_data_from_numpy(ROWS)
    body, size = tritonclient.http.InferenceServerClient.generate_request_body(
        [image], priority=2, timeout=1500
    )
    ours = http_request(ASKED, ROWS)
    ours_size = int(ours.headers["Inference-Header-Content-Length"])
    assert json.loads(ours.body[:ours_size]) == json.loads(body[:size])
    assert ours.body[ours_size:] == body[size:] == ROWS.tobytes()


def test_bytes_are_what_tritons_client_sends() -> None:
    image = tritonclient.grpc.InferInput("IMAGE", [1, 1], "BYTES")
    image.set_data_from_numpy(np.array([[IMAGES[0]]], np.object_))
    ours = message(bytes_request(Question("ensemble"), padded(IMAGES[:1])))
    assert ours.inputs[0] == image._get_tensor()
    assert ours.raw_input_contents[0] == image._get_content()


def test_what_is_posted_is_the_image_itself() -> None:
    assert post_request(Question("path"), padded(IMAGES[:1])).body == IMAGES[0]


def test_what_is_0_or_empty_is_not_sent() -> None:
    plain = Question("ensemble")
    assert not message(grpc_request(plain, ROWS)).parameters
    payload = http_request(plain, ROWS)
    assert isinstance(payload, HttpRequest)
    assert b"timeout" not in payload.body
    assert b"id" not in payload.body.partition(b"IMAGE")[0]


def test_requests_come_in_the_shares_of_the_mix() -> None:
    urgent = RequestClass([b"u"], "urgent", share=0.25, priority=1)
    normal = RequestClass([b"n%d" % n for n in range(10)], "normal", share=0.75)
    count = 40_000
    requests = encoded(run_of(urgent, normal), count)
    drawn = np.bincount(requests.order, minlength=11) / count
    # Five standard deviations of a binomial share, which chance passes once in a million.
    assert drawn[0] == pytest.approx(0.25, abs=5 * (0.25 * 0.75 / count) ** 0.5)
    assert drawn[1:] == pytest.approx([0.075] * 10, abs=5 * (0.075 / count) ** 0.5)
    assert requests.kinds == [0] + [1] * 10
    assert message(requests.payloads[0]).parameters["priority"].int64_param == 1
    assert message(requests.payloads[7]).raw_input_contents[0] == b"n6"


def test_one_seed_is_one_order() -> None:
    mix = RequestClass([b"a", b"b", b"c"])
    orders = [encoded(run_of(mix, seed=seed), 50).order for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_several_rows_are_filled_up_to_the_longest() -> None:
    (payload, *_), kinds, _ = vars(
        encoded(run_of(RequestClass([b"long", b"s"], rows=3)), 1)
    ).values()
    assert len(kinds) == 2
    image = message(payload).inputs[0]
    assert list(image.shape) in ([3, 4], [3, 1])
    assert len(message(payload).raw_input_contents[0]) == 3 * image.shape[1]


@pytest.mark.parametrize(
    "mix", [RequestClass([]), RequestClass([b"x"], share=0.0), RequestClass([b"x"], share=-1.0)]
)
def test_a_mix_that_is_none_is_refused(mix: RequestClass) -> None:
    with pytest.raises(ContractMismatch, match="expected classes with shares and images"):
        encoded(run_of(mix), 1)

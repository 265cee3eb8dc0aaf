"""Every request of a mix, encoded once for its protocol, and which of them is sent when."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tritonclient.grpc import service_pb2

from ensemble.errors import ContractMismatch
from ensemble.tensors import IMAGE
from tools.client.transport import padded
from tools.load.loads import RequestClass, Run

Rows = npt.NDArray[np.uint8]
MOST_GROUPED_BYTES = 256 << 20
"""Of the requests of one class with several images; there is always at least one of them."""


@dataclass(frozen=True)
class Question:
    """What a request says beside its images.

    Attributes:
        model: that is called.
        tensor: the model's input.
        priority: 0 sends none.
        timeout_ms: in Triton's queues; 0 sends none.
        id: of the request; empty sends none.
    """

    model: str
    tensor: str = IMAGE.name
    priority: int = 0
    timeout_ms: float = 0.0
    id: str = ""

    @property
    def parameters(self) -> dict[str, int]:
        """As Triton names them; it counts the timeout in microseconds."""
        values = {"priority": self.priority, "timeout": round(1e3 * self.timeout_ms)}
        return {name: value for name, value in values.items() if value}


@dataclass(frozen=True)
class HttpRequest:
    """Headers and body of a POST."""

    headers: dict[str, str]
    body: bytes


Payload = bytes | HttpRequest


@dataclass(frozen=True)
class Requests:
    """What is sent.

    Attributes:
        payloads: each different request, encoded.
        kinds: the class of each payload, by its place in the mix.
        order: the payload of each request, by its place in ``payloads``.
    """

    payloads: Sequence[Payload]
    kinds: Sequence[int]
    order: Sequence[int]


def grpc_request(question: Question, rows: Rows) -> bytes:
    """A ``ModelInferRequest`` with ``rows``, ``(n, L) uint8``, as its only input."""
    request = service_pb2.ModelInferRequest(model_name=question.model, id=question.id)
    request.inputs.add(name=question.tensor, datatype="UINT8", shape=rows.shape)
    request.raw_input_contents.append(rows.tobytes())
    for name, value in question.parameters.items():
        # Source: Triton takes the timeout as int64 only, the priority as either.
        request.parameters[name].int64_param = value
    return bytes(request.SerializeToString())


def http_request(question: Question, rows: Rows) -> HttpRequest:
    """The same for HTTP. Source: KServe v2 with Triton's binary tensor data extension."""
    tensor = {
        "name": question.tensor,
        "shape": rows.shape,
        "datatype": "UINT8",
        "parameters": {"binary_data_size": rows.nbytes},
    }
    parameters = {**question.parameters, "binary_data_output": True}
    fields: dict[str, Any] = {"inputs": [tensor], "parameters": parameters}
    if question.id:
        fields["id"] = question.id
    header = json.dumps(fields, separators=(",", ":")).encode()
    headers = {
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(len(header)),
    }
    return HttpRequest(headers, header + rows.tobytes())


def bytes_request(question: Question, rows: Rows) -> bytes:
    """As ``grpc_request`` for a model that takes an image as one BYTES element: one row only."""
    request = service_pb2.ModelInferRequest(model_name=question.model, id=question.id)
    request.inputs.add(name=question.tensor, datatype="BYTES", shape=(1, 1))
    # Source: Triton's raw BYTES have the length of each element before it, little-endian.
    request.raw_input_contents.append(struct.pack("<I", rows.size) + rows.tobytes())
    return bytes(request.SerializeToString())


def post_request(question: Question, rows: Rows) -> HttpRequest:
    """The image itself as the body, one row only, for a server that is no Triton."""
    return HttpRequest({"Content-Type": "image/jpeg"}, rows.tobytes())


ENCODERS: dict[str, Callable[[Question, Rows], Payload]] = {
    "grpc": grpc_request,
    "grpc-bytes": bytes_request,
    "http": http_request,
    "post": post_request,
}


def encoded(run: Run, count: int) -> Requests:
    """The mix of a run, encoded, and ``count`` draws of class and image.

    Args:
        run: an image is a payload; of a class with several rows, at most as many payloads of
            random images as there are images.
        count: of the draws, the same for the same seed.

    Raises:
        ContractMismatch: a class without images, or shares that are none.
    """
    random = np.random.default_rng(run.seed)
    shares = np.array([one.share for one in run.mix])
    if not all(one.images for one in run.mix) or not shares.sum() > 0 or shares.min() < 0:
        sizes = [(one.name, one.share, len(one.images)) for one in run.mix]
        raise ContractMismatch(f"the mix: expected classes with shares and images, got {sizes}")
    groups = [_groups(one, random) for one in run.mix]
    encode = ENCODERS[run.protocol]
    payloads, kinds = [], []
    for kind, (one, grouped) in enumerate(zip(run.mix, groups, strict=True)):
        question = Question(run.model, priority=one.priority, timeout_ms=one.timeout_ms)
        payloads += [encode(question, padded(images)) for images in grouped]
        kinds += [kind] * len(grouped)
    counts = np.array([len(grouped) for grouped in groups])
    drawn = random.choice(len(run.mix), count, p=shares / shares.sum())
    within = (random.random(count) * counts[drawn]).astype(np.int64)
    order = (np.cumsum(counts) - counts)[drawn] + within
    return Requests(payloads, kinds, order.tolist())


def _groups(one: RequestClass, random: np.random.Generator) -> list[list[bytes]]:
    """The images of each different request of a class."""
    if one.rows == 1:
        return [[image] for image in one.images]
    largest = one.rows * max(map(len, one.images))
    count = min(len(one.images), max(1, MOST_GROUPED_BYTES // largest))
    picked = random.integers(len(one.images), size=(count, one.rows))
    return [[one.images[place] for place in places] for places in picked]

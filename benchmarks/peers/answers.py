"""One photograph to one server, and its answer: whether it is up, and whether it is right."""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence

import grpc
import numpy as np
from tritonclient.grpc import service_pb2

from benchmarks.peers.catalogue import Peer
from tools.load.by_grpc import INFER
from tools.load.requests import ENCODERS, Question

TIMEOUT_S = 20.0


class Unanswered(Exception):
    """No answer, or one that is none."""


def ask(peer: Peer, address: str, photograph: bytes) -> list[int]:
    """The best classes that a server finds, best first.

    Raises:
        Unanswered: it did not answer, or not with classes.
    """
    rows = np.frombuffer(photograph, np.uint8)[None]
    request = ENCODERS[peer.protocol](Question(peer.model), rows)
    try:
        if isinstance(request, bytes):
            return _by_grpc(address, request)
        return _by_http(address, peer.model, request.headers, request.body)
    except (OSError, http.client.HTTPException, grpc.RpcError, ValueError, LookupError) as error:
        raise Unanswered(f"{peer.name}: {error!r}") from error


def _by_http(address: str, path: str, headers: dict[str, str], body: bytes) -> list[int]:
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    try:
        connection.request("POST", f"/{path}", body, headers)
        answer = connection.getresponse()
        said = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise ValueError(f"HTTP {answer.status} {said[:200]!r}")
    fields = json.loads(said)
    first = fields[0] if isinstance(fields, list) else fields
    return [int(one) for one in first["class_id"]]


def _by_grpc(address: str, message: bytes) -> list[int]:
    with grpc.insecure_channel(address) as channel:
        said = channel.unary_unary(INFER)(message, timeout=TIMEOUT_S)
    response = service_pb2.ModelInferResponse.FromString(said)
    names = [output.name.upper() for output in response.outputs]
    raw = response.raw_output_contents[names.index("CLASS_ID")]
    return [int(one) for one in np.frombuffer(raw, np.int32)]


def compared(got: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> tuple[int, list[int]]:
    """How many best classes are the right ones, and the places of answers that are wrong.

    Decoders round differently, so that two classes that are nearly level may change places: an
    answer is wrong if its best class is none of the two best.

    Args:
        got: best classes of each photograph, best first.
        right: the same, of another server.
    """
    pairs = list(zip(got, right, strict=True))
    wrong = [place for place, (mine, theirs) in enumerate(pairs) if mine[0] not in theirs[:2]]
    return sum(mine[0] == theirs[0] for mine, theirs in pairs), wrong

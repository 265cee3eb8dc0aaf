"""The same questions over gRPC and over HTTP."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from tests.conftest import RunningServer
from tools.validate.batch_axis import Outputs, Send

PROTOCOLS = ("grpc", "http")
INPUTS = {
    "ensemble": "IMAGE",
    "preprocess": "IMAGE",
    "classifier": "PIXELS",
    "postprocess": "LOGITS",
}


class Client(Protocol):
    """One inference at a time, from any thread."""

    def infer(self, model: str, array: np.ndarray) -> Outputs: ...


class GrpcClient:
    """One channel, which all threads share."""

    def __init__(self, server: RunningServer) -> None:
        self.triton = tritonclient.grpc.InferenceServerClient(server.grpc)

    def infer(self, model: str, array: np.ndarray) -> Outputs:
        result = self.triton.infer(model, [question(tritonclient.grpc, model, array)])
        return {out.name: result.as_numpy(out.name) for out in result.get_response().outputs}

    def close(self) -> None:
        self.triton.close()


class HttpClient:
    """A connection for each question: tritonclient's is bound to the thread that made it."""

    def __init__(self, server: RunningServer) -> None:
        self._url = server.http

    def infer(self, model: str, array: np.ndarray) -> Outputs:
        with tritonclient.http.InferenceServerClient(self._url, network_timeout=120.0) as triton:
            result = triton.infer(model, [question(tritonclient.http, model, array)])
            names = [out["name"] for out in result.get_response()["outputs"]]
            return {name: result.as_numpy(name) for name in names}

    def close(self) -> None:
        pass


def question(protocol: Any, model: str, array: np.ndarray) -> Any:
    """The only input of ``model``, or of a variant that is named ``<model>_<something>``."""
    tensor = protocol.InferInput(
        INPUTS[model.split("_")[0]], array.shape, np_to_triton_dtype(array.dtype)
    )
    tensor.set_data_from_numpy(array)
    return tensor


@contextmanager
def connect(server: RunningServer, protocol: str) -> Iterator[GrpcClient | HttpClient]:
    client = GrpcClient(server) if protocol == "grpc" else HttpClient(server)
    try:
        yield client
    finally:
        client.close()


def outcomes(
    client: Client, model: str, arrays: Sequence[np.ndarray]
) -> list[Outputs | InferenceServerException]:
    """All requests in flight at once; each one's outputs or its error, in order."""

    def one(array: np.ndarray) -> Outputs | InferenceServerException:
        try:
            return client.infer(model, array)
        except InferenceServerException as error:
            return error

    if len(arrays) == 1:
        return [one(arrays[0])]
    with ThreadPoolExecutor(len(arrays)) as pool:
        return list(pool.map(one, arrays))


def sender(client: Client, model: str, gather: Any = np.stack) -> Send[Any]:
    """For ``check_batch_axis``; ``gather`` makes one array of a request's items."""

    def send(requests: Sequence[Sequence[Any]]) -> list[Outputs]:
        answers = outcomes(client, model, [gather(request) for request in requests])
        for answer in answers:
            if isinstance(answer, InferenceServerException):
                raise answer
        return answers  # type: ignore[return-value]

    return send


def statistics(server: RunningServer) -> dict[str, dict[str, Any]]:
    """What the server counts, by model."""
    with urllib.request.urlopen(f"http://{server.http}/v2/models/stats", timeout=10) as answer:
        return {row["name"]: row for row in json.load(answer)["model_stats"]}

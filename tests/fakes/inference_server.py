"""A small server that speaks Triton's two protocols on loopback, with a function as its model."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import numpy as np
import numpy.typing as npt
from tritonclient.grpc import service_pb2 as pb

from tools.client.transport import Answer

Rows = npt.NDArray[np.uint8]
HTTP_STATUS = {"INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "INTERNAL": 500, "UNAVAILABLE": 503}


@dataclass(frozen=True)
class Refusal:
    """What a server says instead of an answer: gRPC's status name and a message."""

    status: str
    message: str


Model = Callable[[Rows], list[Answer] | Refusal]
"""IMAGE, ``(n, L) uint8``, to n answers."""
Tensor = tuple[str, str, list[int], bytes]
"""Name, data type, shape and raw bytes."""


def tensors(answers: list[Answer]) -> list[Tensor]:
    """The three outputs of the ensemble, as they go over the wire."""
    shape = [len(answers), len(answers[0].labels)]
    numbers = np.array([answer.class_ids for answer in answers], "<i4")
    scores = np.array([answer.scores for answer in answers], "<f4")
    labels = [label.encode() for answer in answers for label in answer.labels]
    packed = b"".join(struct.pack("<I", len(label)) + label for label in labels)
    return [
        ("CLASS_ID", "INT32", shape, numbers.tobytes()),
        ("SCORE", "FP32", shape, scores.tobytes()),
        ("LABEL", "BYTES", shape, packed),
    ]


@contextmanager
def serving(protocol: str, model: Model) -> Iterator[str]:
    """``host:port`` of a server that runs while the block does."""
    with {"grpc": _grpc, "http": _http}[protocol](model) as address:
        yield address


@contextmanager
def _grpc(model: Model) -> Iterator[str]:
    def infer(request: Any, context: Any) -> Any:
        rows = np.frombuffer(request.raw_input_contents[0], np.uint8)
        result = model(rows.reshape(tuple(request.inputs[0].shape)))
        if isinstance(result, Refusal):
            return context.abort(grpc.StatusCode[result.status], result.message)
        response = pb.ModelInferResponse(model_name=request.model_name)
        for name, datatype, shape, raw in tensors(result):
            response.outputs.add(name=name, datatype=datatype, shape=shape)
            response.raw_output_contents.append(raw)
        return response

    methods = {
        "ModelInfer": (infer, pb.ModelInferRequest),
        "ServerLive": (lambda *_: pb.ServerLiveResponse(live=True), pb.ServerLiveRequest),
    }
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            call, kind.FromString, lambda response: response.SerializeToString()
        )
        for name, (call, kind) in methods.items()
    }
    with ThreadPoolExecutor() as threads:
        server = grpc.server(threads)
        service = "inference.GRPCInferenceService"
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(grace=None).wait()


@contextmanager
def _http(model: Model) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the server lives
            self._send(200, b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            size = int(self.headers["Inference-Header-Content-Length"])
            shape = json.loads(body[:size])["inputs"][0]["shape"]
            result = model(np.frombuffer(body[size:], np.uint8).reshape(shape))
            if isinstance(result, Refusal):
                error = json.dumps({"error": result.message}).encode()
                self._send(HTTP_STATUS[result.status], error)
                return
            header, raw = _http_outputs(result)
            self._send(200, header + raw, {"Inference-Header-Content-Length": str(len(header))})

        def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _http_outputs(answers: list[Answer]) -> tuple[bytes, bytes]:
    parts = tensors(answers)
    outputs = [
        {
            "name": name,
            "datatype": datatype,
            "shape": shape,
            "parameters": {"binary_data_size": len(raw)},
        }
        for name, datatype, shape, raw in parts
    ]
    return json.dumps({"outputs": outputs}).encode(), b"".join(part[3] for part in parts)

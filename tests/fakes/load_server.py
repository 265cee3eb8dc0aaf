"""A server for the load generator, in a process of its own; the model's name says what it does.

Whatever follows a ``-`` in that name only tells one test from another::

    at_once     answers
    silent      never does
    dies        when it is asked for the ``LAST``th time
    line        one request after the other, of ``SERVICE_S`` in turn, to the microsecond
    freezing    at once, but from ``PERIOD_S - FROZEN_S`` to ``PERIOD_S`` not before its end
    hangs_up    answers, and closes the connection without a word (HTTP)
    cuts        closes the connection in the middle of the answer (HTTP)
    moved       answers only if it is not asked to compress, and then says where else to ask (HTTP)
    a cause     of ``REFUSALS``
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as pb

from tests.fakes.inference_server import HTTP_STATUS, Refusal

SERVICE_S = (0.08, 0.12, 0.06, 0.14, 0.1)
PERIOD_S, FROZEN_S = 2.0, 0.2
LAST = 20
REFUSALS = {
    "invalid_input": Refusal("INTERNAL", "in ensemble 'e', invalid_input: image: no image"),
    "timed_out": Refusal("UNAVAILABLE", "[request id: <id_unknown>] Request timeout expired"),
    "too_busy": Refusal("UNAVAILABLE", "[request id: <id_unknown>] Exceeds maximum queue size"),
    "unavailable": Refusal("NOT_FOUND", "Request for unknown model: 'm' is not found"),
    "deadline": Refusal("INTERNAL", "deadline_exceeded: too late"),
    "out_of_memory": Refusal("INTERNAL", "onnx runtime error 6: CUDA failure 2: out of memory"),
    "cancelled": Refusal("CANCELLED", "cancelled"),
    "internal": Refusal("INTERNAL", "backend_failure: it broke"),
}
STATUS = HTTP_STATUS | {"CANCELLED": 499}


@dataclass(frozen=True)
class LoadServer:
    """A running one.

    Attributes:
        addresses: by protocol.
    """

    addresses: dict[str, str]


@contextmanager
def load_server() -> Iterator[LoadServer]:
    """One that runs while the block does."""
    command = [sys.executable, "-m", "tests.fakes.load_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield LoadServer(json.loads(process.stdout.readline()))
        finally:
            process.kill()


class _Models:
    """What each model knows: since when it is asked, how often, and when it is free again."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}
        self._asked: dict[str, int] = {}
        self._free_s: dict[str, float] = {}

    async def answer(self, model: str) -> Refusal | None:
        now_s = time.monotonic()
        since_s = self._since_s.setdefault(model, now_s)
        number = self._asked[model] = self._asked.get(model, -1) + 1
        kind = model.partition("-")[0]
        if kind == "dies" and number == LAST - 1:
            os._exit(1)
        if kind == "silent":
            await asyncio.sleep(3600)
        if kind == "line":
            start_s = max(now_s, self._free_s.get(model, now_s))
            self._free_s[model] = start_s + SERVICE_S[number % len(SERVICE_S)]
            await asyncio.sleep(self._free_s[model] - now_s)
        if kind == "freezing":
            left_s = PERIOD_S - (now_s - since_s) % PERIOD_S
            await asyncio.sleep(left_s if left_s <= FROZEN_S else 0)
        return REFUSALS.get(kind)


async def _grpc(models: _Models) -> tuple[Any, int]:
    async def infer(request: Any, context: Any) -> Any:
        refusal = await models.answer(request.model_name)
        if refusal is not None:
            await context.abort(grpc.StatusCode[refusal.status], refusal.message)
        return b""

    method = grpc.unary_unary_rpc_method_handler(infer, pb.ModelInferRequest.FromString)
    service = "inference.GRPCInferenceService"
    server = grpc.aio.server()
    handler = grpc.method_handlers_generic_handler(service, {"ModelInfer": method})
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, port


async def _http(models: _Models) -> tuple[Any, int]:
    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        length = next(line for line in lines if line.lower().startswith("content-length"))
        await reader.readexactly(int(length.partition(":")[2]))
        model = lines[0].split("/")[3]
        refusal = await models.answer(model)
        status = 200 if refusal is None else STATUS[refusal.status]
        if model == "moved":
            status = 503 if b"accept-encoding" in head.lower() else 307
        text = "{}" if refusal is None else json.dumps({"error": refusal.message})
        promised = len(text) + model.startswith("cuts")
        fields = f"HTTP/1.1 {status} X\r\nContent-Length: {promised}\r\nLocation: at_once"
        writer.write(f"{fields}\r\n\r\n{text}".encode())
        await writer.drain()
        if model.startswith(("cuts", "hangs_up")):
            raise ConnectionError

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await one(reader, writer)
        writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0, limit=1 << 20)
    return server, server.sockets[0].getsockname()[1]


async def _main() -> None:
    models = _Models()
    (grpc_server, grpc_port), (_, http_port) = await _grpc(models), await _http(models)
    addresses = {"grpc": f"127.0.0.1:{grpc_port}", "http": f"127.0.0.1:{http_port}"}
    print(json.dumps(addresses), flush=True)  # noqa: T201
    await grpc_server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(_main())

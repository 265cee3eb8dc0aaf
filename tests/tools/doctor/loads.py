"""Callers of the sleeping models, all in one thread: closed loops, and pairs close together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import grpc
from tritonclient.grpc import service_pb2

_INFER = "/inference.GRPCInferenceService/ModelInfer"
RETRY_S = 0.05
ALONE = 32

Send = Callable[[bytes], Awaitable[bool]]
Caller = Callable[[Send], Awaitable[None]]
"""One client: what it does once, over and over."""


def request(
    model: str, rows: int = 1, length: int = 1, more: bool = False, value: int = 0
) -> bytes:
    """A request of ``(rows, length) uint8``, with the optional input ``MORE`` or without."""
    message = service_pb2.ModelInferRequest(model_name=model)
    tensor = message.inputs.add(name="IN", datatype="UINT8", shape=[rows, length])
    message.raw_input_contents.append(bytes([value]) * (rows * length))
    if more:
        tensor = message.inputs.add(name="MORE", datatype="UINT8", shape=[rows, 1])
        tensor.shape[:] = [rows, 1]
        message.raw_input_contents.append(bytes(rows))
    return bytes(message.SerializeToString())


def again(*requests: bytes, think_s: float = 0.0) -> Caller:
    """One request after the other, each when the one before is answered."""
    turn = 0

    async def call(send: Send) -> None:
        nonlocal turn
        turn += 1
        served = await send(requests[turn % len(requests)])
        await asyncio.sleep(think_s if served else max(think_s, RETRY_S))

    return call


def after_some_alone(model: str, callers: int) -> list[Caller]:
    """So many at once, once the server has seen enough of one alone to know its time."""
    alone = asyncio.Event()

    async def first(send: Send) -> None:
        if not alone.is_set():
            for _ in range(ALONE):
                await send(request(model))
            alone.set()
        await send(request(model))

    async def other(send: Send) -> None:
        await alone.wait()
        await send(request(model))

    return [first, *[other] * (callers - 1)]


def team(model: str, size: int, start_s: float) -> Caller:
    """So many at once, again when the last of them is answered; the first time after a while."""
    wait_s = start_s

    async def call(send: Send) -> None:
        nonlocal wait_s
        await asyncio.sleep(wait_s)
        wait_s = 0.0
        await asyncio.gather(*(send(request(model)) for _ in range(size)))

    return call


def pairs(model: str, gap_s: float) -> Caller:
    """Two requests, the second while the first runs; then the next two."""

    async def call(send: Send) -> None:
        async def second() -> None:
            await asyncio.sleep(gap_s)
            await send(request(model))

        await asyncio.gather(send(request(model)), second())

    return call


@contextmanager
def calling(address: str, callers: Sequence[Caller]) -> Iterator[None]:
    """All of them, until the block ends."""
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def life(caller: Caller, send: Send) -> None:
        while not stop.is_set():
            await caller(send)

    async def everybody() -> None:
        async with grpc.aio.insecure_channel(address) as channel:
            infer = channel.unary_unary(_INFER)

            async def send(payload: bytes) -> bool:
                try:
                    await infer(payload, timeout=20)
                except grpc.aio.AioRpcError:
                    return False
                return True

            await asyncio.gather(*(life(caller, send) for caller in callers))

    thread = threading.Thread(target=loop.run_until_complete, args=(everybody(),))
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()

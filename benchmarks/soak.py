"""Does memory stay flat? Many requests, good and bad mixed, of one and of several images."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import grpc
import numpy as np
import psutil
from PIL import Image

from benchmarks.served import resident_bytes
from tools.client.transport import padded
from tools.load.by_grpc import INFER
from tools.load.photographs import photographs
from tools.load.requests import Question, grpc_request

CLIENTS = 16
BAD_SHARE = 0.05
LARGEST = 64
WARM_UP_REQUESTS = 12


def run(address: str, server: psutil.Process, requests: int, seed: int = 0) -> dict[str, Any]:
    """Send, and read the memory of every process at the start, half way and at the end.

    Returns:
        Resident bytes a process at the three moments, what was answered how, and the growth over
        the second half as a share.
    """
    payloads = _payloads(np.random.default_rng(seed))
    # Buffers keep the size of the largest batch so far. The largest that can come is sent first, or
    # a leak could not be told from a batch that happened to be larger than those before.
    full = [_request([photographs()[n % len(photographs())] for n in range(LARGEST)])]
    asyncio.run(_send(address, full, WARM_UP_REQUESTS))
    sizes = {"start": resident_bytes(server)}
    answers: dict[str, int] = {}
    for moment in ("half", "end"):
        half = asyncio.run(_send(address, payloads, requests // 2))
        for code, count in half.items():
            answers[code] = answers.get(code, 0) + count
        sizes[moment] = resident_bytes(server)
    growth = {name: sizes["end"][name] / sizes["half"][name] - 1 for name in sizes["end"]}
    return {"resident_bytes": sizes, "answers": answers, "growth_second_half": growth}


def _payloads(random: np.random.Generator) -> list[bytes]:
    good, bad = photographs(), _bad_images()
    payloads = []
    for _ in range(400):
        count = int(random.choice([1, 2, 3, 7], p=[0.94, 0.03, 0.02, 0.01]))
        images = [good[int(random.integers(len(good)))] for _ in range(count)]
        if random.random() < BAD_SHARE:
            images[int(random.integers(count))] = bad[int(random.integers(len(bad)))]
        payloads.append(_request(images))
    return payloads


def _bad_images() -> list[bytes]:
    jpeg = photographs()[0]
    buffer = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(buffer, "PNG")
    return [
        b"<html>not found</html>",
        jpeg[: len(jpeg) // 2],
        jpeg[: len(jpeg) // 2] + bytes(200) + jpeg[len(jpeg) // 2 + 200 :],
        buffer.getvalue(),
        b"GIF89a" + bytes(50),
    ]


def _request(images: list[bytes]) -> bytes:
    return grpc_request(Question("ensemble"), padded(images))


async def _send(address: str, payloads: list[bytes], count: int) -> dict[str, int]:
    answers: dict[str, int] = {}
    numbers = iter(range(count))

    async def caller(infer: Any) -> None:
        for number in numbers:
            try:
                await infer(payloads[number % len(payloads)])
                code = "OK"
            except grpc.aio.AioRpcError as error:
                code = error.code().name
            answers[code] = answers.get(code, 0) + 1

    async with grpc.aio.insecure_channel(address) as channel:
        await asyncio.gather(*(caller(channel.unary_unary(INFER)) for _ in range(CLIENTS)))
    return answers

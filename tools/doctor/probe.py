"""A few requests of our own: one alone, then some at once. Never sent unless asked for."""

from __future__ import annotations

import json
import math
import struct
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from ensemble.errors import ServingError
from tools.doctor.stage import Probe, Stage, Watched
from tools.statistics.configuration import Config, Input
from tools.statistics.http import ask
from tools.statistics.snapshot import Model, read_counters

TIMEOUT_S = 30.0
_ITEM_BYTES = {"BOOL": 1, "BYTES": 4} | {
    f"{kind}{bits}": bits // 8 for kind in ("INT", "UINT", "FP", "BF") for bits in (8, 16, 32, 64)
}


@dataclass(frozen=True)
class Request:
    """A request's body, as HTTP's binary extension has it.

    Attributes:
        body: JSON, then raw tensors.
        header_bytes: length of the JSON.
    """

    body: bytes
    header_bytes: int


def request_of(config: Config, image: bytes) -> Request:
    """Zeros for every input that must be there; the image for one of UINT8 ``[-1]``."""
    tensors, payload = [], b""
    for one in config.inputs:
        if one.optional:
            continue
        shape, data = _tensor(one, image)
        tensors.append(
            {
                "name": one.name,
                "shape": [1, *shape] if config.max_batch_size else shape,
                "datatype": one.datatype,
                "parameters": {"binary_data_size": len(data)},
            }
        )
        payload += data
    header = json.dumps({"inputs": tensors}).encode()
    return Request(header + payload, len(header))


def _tensor(one: Input, image: bytes) -> tuple[list[int], bytes]:
    if one.datatype == "UINT8" and one.dims == (-1,):
        return [len(image)], image
    shape = [1 if size == -1 else size for size in one.dims]
    count = math.prod(shape)
    if one.datatype == "BYTES":
        return shape, struct.pack("<I", 0) * count
    return shape, bytes(count * _ITEM_BYTES.get(one.datatype, 1))


def probe(server: Watched, together: int, images: Sequence[bytes]) -> Watched:
    """The same server, with what the probe saw at each model that clients call."""
    steps = {name for stage in server.stages for name in stage.config.steps}
    stages = [
        stage
        if stage.model.name in steps
        else replace(stage, probe=_probe(server.url, stage, together, images))
        for stage in server.stages
    ]
    return replace(server, stages=tuple(stages))


def _probe(url: str, stage: Stage, together: int, images: Sequence[bytes]) -> Probe:
    requests = [request_of(stage.config, images[n % len(images)]) for n in range(max(1, together))]
    path = f"{url}{stage.model.path}/infer"
    alone_ms, error = send(path, requests[0])
    before = _executions(url, stage.model)
    with ThreadPoolExecutor(together) as threads:
        results = list(threads.map(lambda one: send(path, one), requests))
    after = _executions(url, stage.model)
    times_ms = [took_ms for took_ms, _ in results if took_ms is not None]
    known = before is not None and after is not None and not stage.config.is_ensemble
    return Probe(
        alone_ms=alone_ms,
        together_ms=sum(times_ms) / len(times_ms) if times_ms else None,
        errors=tuple(text for text in (error, *(text for _, text in results)) if text),
        requests=together,
        executions=(after or 0) - (before or 0) if known else None,
    )


def _executions(url: str, model: Model) -> int | None:
    try:
        return read_counters(url)[model].executions
    except (ServingError, KeyError):
        return None


def send(path: str, request: Request) -> tuple[float | None, str]:
    """Milliseconds of one request, or the words of its failure."""
    start_s = time.monotonic()
    headers = {
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(request.header_bytes),
    }
    try:
        answer = ask(path, request.body, TIMEOUT_S, headers)
    except ServingError as error:
        return None, str(error)
    if answer.status != 200:
        return None, answer.reason
    return 1e3 * (time.monotonic() - start_s), ""

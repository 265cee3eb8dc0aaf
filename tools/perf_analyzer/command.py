"""What perf_analyzer is told: its command line, its input data and its schedule."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ensemble.errors import ContractMismatch
from ensemble.tensors import IMAGE
from tools.client.transport import padded
from tools.load.loads import ClosedLoop, OpenLoop, RequestClass, Run
from tools.load.requests import Question

INPUT, SCHEDULE, EXPORT = "input.json", "intervals.txt", "export.json"
WINDOWS = 3
"""It measures that many times at least, and says which requests ended in one of them."""
LONGER = 1.2
"""Each is longer than it was told by this factor."""
NEVER_UNSTABLE = 999
"""Percent by which windows may differ: whether they do is not for it to judge."""


def check_fits(mix: Sequence[RequestClass], protocols: Sequence[str]) -> None:
    """Nothing, when it can send such requests.

    Raises:
        ContractMismatch: with what it can't.
    """
    if len(mix) != 1:
        names = ", ".join(one.name for one in mix)
        raise ContractMismatch(
            f"--engine perf_analyzer: expected one class, as it sends every request with the same "
            f"parameters, got {names}"
        )
    if "http" in protocols and _parameters(mix[0]):
        raise ContractMismatch(
            "--engine perf_analyzer: expected --protocol grpc for a class with a priority or a "
            "timeout, which it sends over no other, got http"
        )


def arguments(run: Run, folder: Path) -> list[str]:
    """Its command line; what it names in ``folder`` is written by ``write_files``."""
    one = run.mix[0]
    words = ["-m", run.model, "-u", run.address, "-i", run.protocol, "--async"]
    words += ["--input-data", f"{folder / INPUT}", "--profile-export-file", f"{folder / EXPORT}"]
    words += ["-b", f"{one.rows}"] if one.rows > 1 else []
    for name, value in _parameters(one).items():
        words += ["--request-parameter", f"{name}:{value}:int"]
    if isinstance(run.loop, ClosedLoop):
        window_ms = max(1, round(1e3 * run.duration_s / WINDOWS / LONGER))
        words += ["--concurrency-range", f"{run.loop.callers}"]
        words += ["--measurement-interval", f"{window_ms}", "--max-trials", f"{WINDOWS}"]
        return [*words, "--stability-percentage", f"{NEVER_UNSTABLE}"]
    words += ["--request-intervals", f"{folder / SCHEDULE}"]
    return [*words, "--request-count", f"{len(run.loop.due_s)}"]


def _parameters(one: RequestClass) -> dict[str, int]:
    return Question("", priority=one.priority, timeout_ms=one.timeout_ms).parameters


def write_files(run: Run, folder: Path) -> None:
    """Its input data and, for an open loop, its schedule."""
    fields = {"data": [{IMAGE.name: one} for one in _tensors(run.mix[0])]}
    (folder / INPUT).write_text(json.dumps(fields), encoding="utf-8")
    if isinstance(run.loop, OpenLoop):
        np.savetxt(folder / SCHEDULE, intervals_microseconds(run.loop), fmt="%d")


def intervals_microseconds(loop: OpenLoop) -> npt.NDArray[np.int64]:
    """Before each request, ``(n,) int64``; rounding does not add up."""
    return np.diff(np.round(1e6 * loop.due_s).astype(np.int64), prepend=0)


def _tensors(one: RequestClass) -> Iterator[dict[str, object]]:
    """Each image; requests of several rows take images that follow each other, of one length."""
    images = padded(list(one.images)) if one.rows > 1 else one.images
    for image in images:
        content = bytes(image)
        yield {"content": {"b64": base64.b64encode(content).decode()}, "shape": [len(content)]}

"""Ask a server for a real answer. Standard library only, since probes run it every few seconds.

Triton goes on calling a model ready whose Python process is dead; only an inference tells.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ensemble.errors import (
    BackendFailure,
    ContractMismatch,
    DeadlineExceeded,
    InvalidInput,
    ModelUnavailable,
    Overloaded,
    ServingError,
)
from tools.serve.options import TOKEN_HEADER

PROBE_IMAGE = Path(__file__).with_name("probe.jpg").read_bytes()
PROBE_ID = "tandem-probe"
"""The request's id, by which a trace tells a probe from traffic."""
RELOADS = "tandem_reloads"
"""Parameter of a model that was loaded again while it served: how often."""
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever http_proxy says
_ITEM_BYTES = {"UINT8": 1, "FP16": 2, "FP32": 4, "INT32": 4, "INT64": 8}


def check(http_url: str, model: str = "ensemble", timeout_s: float = 5.0) -> float:
    """Seconds that one real inference took.

    Args:
        http_url: for example ``http://127.0.0.1:8000``.
        model: any model whose inputs are IMAGE or can be zeros.
        timeout_s: for the answer.

    Raises:
        ServingError: ModelUnavailable, Overloaded, DeadlineExceeded or BackendFailure;
            ContractMismatch for a URL that is none.
    """
    try:
        urllib.parse.urlsplit(http_url)
    except ValueError as error:
        raise ContractMismatch(f"{http_url}: expected http://host:port, {error}") from error
    metadata = _get_json(f"{http_url}/v2/models/{model}", timeout_s)
    start = time.monotonic()
    try:
        body, header_bytes = _request_body(metadata["inputs"])
    except (KeyError, TypeError) as error:
        raise ModelUnavailable(
            f"{http_url}: expected a model of image or number inputs, got {metadata!s:.200}"
        ) from error
    headers = {
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(header_bytes),
    }
    request = urllib.request.Request(f"{http_url}/v2/models/{model}/infer", body, headers)
    _open(request, timeout_s)
    return time.monotonic() - start


def load(http_url: str, model: str, token: str, timeout_s: float = 120.0) -> None:
    """Load a model again with the configuration it has; requests go on meanwhile.

    Triton does nothing when neither a file nor the configuration has changed, be the model's
    process dead or not; and it keeps the instances when only they are configured otherwise. So the
    configuration that is sent counts the reloads in a parameter, an integer like all of ours.

    Raises:
        ServingError: the server could not; the old copy stays.
    """
    config = _get_json(f"{http_url}/v2/models/{model}/config", timeout_s)
    parameters = config.setdefault("parameters", {})
    reloads = int(parameters.get(RELOADS, {}).get("string_value", 0))
    parameters[RELOADS] = {"string_value": str(reloads + 1)}
    body = json.dumps({"parameters": {"config": json.dumps(config)}}).encode()
    request = urllib.request.Request(
        f"{http_url}/v2/repository/models/{model}/load", body, {TOKEN_HEADER: token}
    )
    _open(request, timeout_s)


def end_trace(http_url: str, token: str, timeout_s: float = 2.0) -> None:
    """Have Triton trace no more, and write what it has traced to its file now.

    Raises:
        ServingError: the server could not.
    """
    request = urllib.request.Request(
        f"{http_url}/v2/trace/setting", b'{"trace_level":["OFF"]}', {TOKEN_HEADER: token}
    )
    _open(request, timeout_s)


def is_ready(http_url: str, model: str | None = None) -> bool:
    """What Triton itself says of the server, or of one model."""
    path = "health/ready" if model is None else f"models/{model}/ready"
    try:
        _get(f"{http_url}/v2/{path}", timeout_s=2.0)
    except ServingError:
        return False
    return True


def execution_counts(http_url: str, timeout_s: float = 2.0) -> dict[str, int]:
    """Executions of each model since it was loaded.

    Raises:
        ServingError: the server does not answer.
    """
    stats = _get_json(f"{http_url}/v2/models/stats", timeout_s)
    return {row["name"]: int(row["execution_count"]) for row in stats["model_stats"]}


def _request_body(inputs: list[Mapping[str, Any]]) -> tuple[bytes, int]:
    tensors, payload = [], b""
    for tensor in inputs:
        shape = [1 if size == -1 else size for size in tensor["shape"]]
        if tensor["name"] == "IMAGE":
            shape, data = [1, len(PROBE_IMAGE)], PROBE_IMAGE
        else:
            items = 1
            for size in shape:
                items *= size
            data = bytes(items * _ITEM_BYTES[tensor["datatype"]])
        parameters = {"binary_data_size": len(data)}
        tensors.append(
            {
                "name": tensor["name"],
                "shape": shape,
                "datatype": tensor["datatype"],
                "parameters": parameters,
            }
        )
        payload += data
    # As bytes: Triton writes no FP16 as JSON.
    answer = {"parameters": {"binary_data_output": True}}
    header = json.dumps({"id": PROBE_ID, "inputs": tensors} | answer).encode()
    return header + payload, len(header)


def _get(url: str, timeout_s: float) -> bytes:
    return _open(urllib.request.Request(url), timeout_s)


def _get_json(url: str, timeout_s: float) -> Any:
    text = _get(url, timeout_s)
    try:
        return json.loads(text)
    except ValueError as error:
        raise ModelUnavailable(f"{url}: expected Triton's JSON, got {text[:40]!r}") from error


def _open(request: urllib.request.Request, timeout_s: float) -> bytes:
    url = request.full_url
    try:
        with _DIRECT.open(request, timeout=timeout_s) as response:
            return bytes(response.read())
    except urllib.error.HTTPError as error:
        raise _refused(error, url) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise DeadlineExceeded(f"{url}: no answer within {timeout_s:g} s") from error
        raise ModelUnavailable(f"{url}: {reason!s:.200}") from error


def _refused(error: urllib.error.HTTPError, url: str) -> ServingError:
    with error:
        text = error.read().decode(errors="replace")
    with contextlib.suppress(ValueError, KeyError, TypeError):
        text = json.loads(text)["error"]
    message = f"{url}: {text or error.reason}"
    if error.code == 503:
        return Overloaded(message)
    if error.code in (400, 404):
        kind = ModelUnavailable if "unknown model" in text or error.code == 404 else InvalidInput
        return kind(message)
    return BackendFailure(message)

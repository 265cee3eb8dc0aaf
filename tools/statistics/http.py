"""GET and POST with limits: on the wait, on the size, and on what is believed to be Triton."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ensemble.errors import DeadlineExceeded, ModelUnavailable
from tools.terminal import plain

TIMEOUT_S = 5.0
MAX_BYTES = 64 << 20
"""Statistics of a thousand models are about a megabyte."""
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever http_proxy says
_CHUNK_BYTES = 1 << 16
_HTTP2_SETTINGS = "\0\0"
"""HTTP/2 begins with a frame whose length has three bytes, of which two are 0. Source: RFC 9113."""


@dataclass(frozen=True)
class Answer:
    """What came back, whatever its status.

    Attributes:
        status: of HTTP.
        body: as it came.
    """

    status: int
    body: bytes

    @property
    def reason(self) -> str:
        """The server's own words for an error, on one line."""
        try:
            text = str(json.loads(self.body)["error"])
        except (ValueError, KeyError, TypeError):
            text = self.body[:200].decode(errors="replace")
        return in_brief(" ".join(text.split())) or f"HTTP {self.status}"


def ask(
    url: str,
    body: bytes | None = None,
    timeout_s: float = TIMEOUT_S,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request; an error status is an answer too.

    Args:
        url: with scheme, host and port.
        body: makes it a POST.
        timeout_s: until the answer is whole.
        headers: of the request.

    Raises:
        ServingError: ModelUnavailable or DeadlineExceeded, with the URL.
    """
    deadline_s = time.monotonic() + timeout_s
    try:
        request = urllib.request.Request(url, body, dict(headers or {}))
        with _DIRECT.open(request, timeout=timeout_s) as response:
            return Answer(response.status, _read(response, url, deadline_s))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read(_CHUNK_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise DeadlineExceeded(f"{url}: no answer within {timeout_s:g} s") from error
        raise ModelUnavailable(f"{url}: {_in_words(reason)}") from error


def _in_words(reason: object) -> str:
    """On one line."""
    text = str(reason)
    if isinstance(reason, http.client.BadStatusLine) and text.startswith(_HTTP2_SETTINGS):
        return "expected HTTP/1.1, got HTTP/2; this looks like a gRPC port, --url is the HTTP one"
    return in_brief(text)


def in_brief(text: str) -> str:
    """Its first 200 letters, and nothing that a terminal would obey."""
    return plain(text[:200])


def _read(response: http.client.HTTPResponse, url: str, deadline_s: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := response.read1(_CHUNK_BYTES):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            raise ModelUnavailable(f"{url}: expected at most {MAX_BYTES >> 20} MiB, got more")
        if time.monotonic() > deadline_s:
            raise TimeoutError
    if response.length:
        raise ModelUnavailable(f"{url}: the answer broke off {response.length} bytes early")
    return b"".join(parts)


def get_json(url: str, timeout_s: float = TIMEOUT_S) -> Any:
    """The JSON object that Triton answers.

    Raises:
        ServingError: no answer, an error status, or something that is not an object.
    """
    answer = ask(url, timeout_s=timeout_s)
    if answer.status != 200:
        raise ModelUnavailable(f"{url}: expected HTTP 200, got {answer.status}: {answer.reason}")
    try:
        parsed = json.loads(answer.body)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise ModelUnavailable(f"{url}: expected Triton's JSON, got {answer.body[:40]!r}")
    return parsed

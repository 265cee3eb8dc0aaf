"""From what ``tritonclient`` and the network raise to the error tree, in this one place.

Both protocols arrive here: gRPC has status names, HTTP has numbers, and what never reached a
server is an ``OSError`` or an ``HTTPException`` (geventhttpclient's own errors are of that kind).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException

from tritonclient.utils import InferenceServerException

from ensemble.errors import (
    BackendFailure,
    DeadlineExceeded,
    InvalidInput,
    ModelUnavailable,
    Overloaded,
    ServingError,
)

_ON_THE_WIRE: dict[str, type[ServingError]] = {
    cause.label: cause
    for cause in (InvalidInput, Overloaded, ModelUnavailable, DeadlineExceeded, BackendFailure)
}
_BY_STATUS: dict[str, type[ServingError]] = {
    "INVALID_ARGUMENT": InvalidInput,
    "400": InvalidInput,
    "413": InvalidInput,  # a gateway's limit on the body
    "RESOURCE_EXHAUSTED": Overloaded,
    "429": Overloaded,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "504": DeadlineExceeded,
    "UNAVAILABLE": ModelUnavailable,
    "503": ModelUnavailable,
    "502": ModelUnavailable,  # a gateway with no server behind it
    "NOT_FOUND": ModelUnavailable,
    "404": ModelUnavailable,
    "UNIMPLEMENTED": ModelUnavailable,  # something that is not Triton
    "405": ModelUnavailable,
}
# Triton says UNAVAILABLE for these as well; the words are in core's src/scheduler_utils.cc.
QUEUE_FULL = "Exceeds maximum queue size"
QUEUE_TIMEOUT = "Request timeout expired"
# Newer servers say NOT_FOUND, older ones INVALID_ARG, and UNAVAILABLE while it is loading.
_NO_MODEL = "Request for unknown model"
_NOISE = re.compile(r"^(?:in ensemble '[^']*', |\[request id: [^\]]*\] )+")
_NOT_JSON = "an exception occurred in the client while decoding the response"
# How gRPC's own text begins when a request never left.
UNCONNECTED = ("failed to connect to all addresses", "errors resolving")


@dataclass(frozen=True)
class Server:
    """Who was asked.

    Attributes:
        where: host, port and protocol, for messages.
        timeout_s: how long an answer may take.
        alive: asks it whether it lives. Only called after a timeout, which alone can't tell a
            slow model from a server that is not there.
    """

    where: str
    timeout_s: float
    alive: Callable[[], bool]


def translate(error: Exception, server: Server) -> ServingError:
    """The error of our own tree for a foreign one."""
    if isinstance(error, TimeoutError) or _status(error) == "DEADLINE_EXCEEDED":
        return _timed_out(server)
    if isinstance(error, InferenceServerException):
        return _from_server(_status(error), str(error.message()), server)
    return _from_network(error, server)


def _status(error: Exception) -> str:
    if not isinstance(error, InferenceServerException):
        return ""
    return str(error.status()).removeprefix("StatusCode.")


def _timed_out(server: Server) -> ServingError:
    """Too slow, or not there: the clock ran out either way, so ask."""
    if server.alive():
        return DeadlineExceeded(f"no answer from {server.where} within {server.timeout_s:g} s")
    return ModelUnavailable(
        f"no server at {server.where}: no answer within {server.timeout_s:g} s, "
        "nor to the question whether it lives"
    )


def _from_server(status: str, text: str, server: Server) -> ServingError:
    """What an answer means, or gRPC's own words for having none."""
    if text.startswith(UNCONNECTED):
        return _unconnected(text, server)
    if text.startswith(_NOT_JSON):
        text = "an answer that is not Triton's"
    label, message = cause(text)
    kind = judge(status, text)
    by_status = kind is ModelUnavailable and label is None
    return kind(f"{server.where} answered: {message}" if by_status else message)


def judge(status: str, text: str) -> type[ServingError]:
    """The place in the error tree of a server's refusal.

    Args:
        status: the name of gRPC's, such as ``UNAVAILABLE``, or HTTP's number.
        text: the server's message.
    """
    label, message = cause(text)
    if label is not None:
        return _ON_THE_WIRE[label]
    if QUEUE_FULL in message or QUEUE_TIMEOUT in message:
        return Overloaded
    return ModelUnavailable if _NO_MODEL in message else _BY_STATUS.get(status, BackendFailure)


def cause(text: str) -> tuple[str | None, str]:
    """The label of the error tree that a server's message begins with, if any, and the rest.

    Triton puts the ensemble's name and a request id in front; both are dropped.
    """
    message = _NOISE.sub("", text)
    label, colon, rest = message.partition(": ")
    return (label, rest) if colon and label in _ON_THE_WIRE else (None, message)


def _unconnected(text: str, server: Server) -> ServingError:
    reason = text.rsplit(": ", 1)[-1].rstrip("]")
    certain = "refused" in reason or text.startswith("errors resolving")
    hint = "" if certain else _hint("gRPC")
    return ModelUnavailable(f"no server at {server.where}: {reason}{hint}")


def _from_network(error: Exception, server: Server) -> ServingError:
    if isinstance(error, HTTPException):
        reason = error.args[0] if error.args else type(error).__name__
        return ModelUnavailable(f"no server at {server.where}: {reason}{_hint('HTTP')}")
    if isinstance(error, OSError):
        return ModelUnavailable(f"no server at {server.where}: {error.strerror or error}")
    return BackendFailure(f"{server.where}: {type(error).__name__}: {error}")


def _hint(protocol: str) -> str:
    return (
        f" (does this port speak {protocol}? Triton's default ports are 8000 for HTTP, "
        "8001 for gRPC)"
    )

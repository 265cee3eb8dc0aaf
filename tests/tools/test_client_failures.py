"""Every foreign error has one place in the tree, and keeps the server's own words."""

from __future__ import annotations

import socket
from http.client import HTTPException

import pytest
from tritonclient.utils import InferenceServerException

from ensemble.errors import (
    BackendFailure,
    DeadlineExceeded,
    InvalidInput,
    ModelUnavailable,
    Overloaded,
    ServingError,
)
from tools.client.failures import Server, cause, translate

REFUSED = (
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:[::1]:1: Connection refused"
)
CLOSED = "failed to connect to all addresses; last error: UNAVAILABLE: ipv4:x:1: Socket closed"
UNRESOLVED = "errors resolving x:1: [field:hostname lookup error:x: Domain name not found]"
UNKNOWN_MODEL = "Request for unknown model: 'ensemble' is not found"
IN_ENSEMBLE = "in ensemble 'ensemble', "


def status(message: str, code: str | None) -> InferenceServerException:
    return InferenceServerException(msg=message, status=code)


@pytest.mark.parametrize(
    ("foreign", "kind"),
    [
        (status("x", "StatusCode.INVALID_ARGUMENT"), InvalidInput),
        (status("x", "400"), InvalidInput),
        (status("x", "413"), InvalidInput),
        (status("[request id: 7] Request timeout expired", "503"), Overloaded),
        (status("Request timeout expired", "StatusCode.UNAVAILABLE"), Overloaded),
        (status("x", "StatusCode.RESOURCE_EXHAUSTED"), Overloaded),
        (status("x", "StatusCode.UNAVAILABLE"), ModelUnavailable),
        (status("x", "502"), ModelUnavailable),
        (status(REFUSED, "StatusCode.UNAVAILABLE"), ModelUnavailable),
        (status(UNRESOLVED, "StatusCode.UNAVAILABLE"), ModelUnavailable),
        (status(UNKNOWN_MODEL, "400"), ModelUnavailable),
        (status("x", "StatusCode.UNIMPLEMENTED"), ModelUnavailable),
        (status("Deadline Exceeded", "StatusCode.DEADLINE_EXCEEDED"), DeadlineExceeded),
        (status("x", "504"), DeadlineExceeded),
        (status("x", "500"), BackendFailure),
        (status("x", None), BackendFailure),
        (TimeoutError("timed out"), DeadlineExceeded),
        (ConnectionRefusedError(111, "Connection refused"), ModelUnavailable),
        (ConnectionResetError(104, "Connection reset by peer"), ModelUnavailable),
        (socket.gaierror(-2, "Name or service not known"), ModelUnavailable),
        (HTTPException("connection closed."), ModelUnavailable),
        (ValueError("no JSON"), BackendFailure),
    ],
)
def test_foreign_errors_have_one_place_in_the_tree(
    foreign: Exception, kind: type[ServingError]
) -> None:
    assert type(translate(foreign, Server("x:1", 5.0, lambda: True))) is kind


@pytest.mark.parametrize("foreign", [TimeoutError(), status("", "StatusCode.DEADLINE_EXCEEDED")])
def test_a_timeout_of_a_dead_server_is_unavailable(foreign: Exception) -> None:
    assert type(translate(foreign, Server("x:1", 5.0, lambda: False))) is ModelUnavailable


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (REFUSED, "no server at x:1: Connection refused"),
        (UNRESOLVED, "no server at x:1: Domain name not found"),
        (CLOSED, "no server at x:1: Socket closed (does this port speak gRPC?"),
    ],
)
def test_only_an_open_port_gets_the_hint(text: str, message: str) -> None:
    error = translate(status(text, "StatusCode.UNAVAILABLE"), Server("x:1", 5.0, lambda: True))
    assert str(error).startswith(message)
    assert ("does this port" in str(error)) == ("does this port" in message)


@pytest.mark.parametrize(
    "kind", [InvalidInput, Overloaded, ModelUnavailable, DeadlineExceeded, BackendFailure]
)
def test_the_label_on_the_wire_decides_and_is_taken_off(kind: type[ServingError]) -> None:
    foreign = status(f"{IN_ENSEMBLE}[request id: <id_unknown>] {kind.label}: why: so", "500")
    error = translate(foreign, Server("x:1", 5.0, lambda: True))
    assert type(error) is kind
    assert str(error) == "why: so"


@pytest.mark.parametrize("text", ["image: bad", "see invalid_input: x", "invalid_input", ""])
def test_a_message_without_a_label_stays_as_it_is(text: str) -> None:
    assert cause(text) == (None, text)

"""Both transports carry exact bytes, and every foreign error arrives as one of ours."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from ensemble.errors import (
    BackendFailure,
    ContractMismatch,
    DeadlineExceeded,
    InvalidInput,
    ModelUnavailable,
    Overloaded,
    ServingError,
)
from tests.fakes.inference_server import Refusal, Rows, serving
from tools.client import transport
from tools.client.address import host_port
from tools.client.transport import Answer, connected, padded
from tools.client.window import in_order

OTHER = {"grpc": "http", "http": "grpc"}
SURE = Answer((1, 0), (0.75, 0.25), ("Käse", "none"))
UNKNOWN_MODEL = "Request for unknown model: 'ensemble' is not found"
IN_ENSEMBLE = "in ensemble 'ensemble', "


@pytest.fixture(params=["grpc", "http"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that accepts a connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def failure(protocol: str, url: str, timeout_s: float = 10.0) -> ServingError:
    with connected(protocol, url, timeout_s) as client, pytest.raises(ServingError) as caught:
        client.classify([b"x"])
    return caught.value


def test_padding_keeps_every_byte_and_adds_only_zeros() -> None:
    images = [b"\x00a\x00\x00", b"", b"\xff"]
    rows = padded(images)
    assert rows.dtype == np.uint8
    assert [row.tobytes() for row in rows] == [image.ljust(4, b"\0") for image in images]


def test_bytes_arrive_exactly_and_answers_come_back(protocol: str) -> None:
    seen: list[bytes] = []

    def model(rows: Rows) -> list[Answer]:
        seen.extend(row.tobytes() for row in rows)
        return [SURE] * len(rows)

    with serving(protocol, model) as url, connected(protocol, url, 10.0) as client:
        assert client.classify([]) == []
        assert client.classify([b"JPEG\0\0"]) == [SURE]
        assert client.classify([b"a\0", b"bcde"]) == [SURE, SURE]
    assert seen == [b"JPEG\0\0", b"a\0\0\0", b"bcde"]


def test_a_proxy_in_the_environment_is_not_asked(
    protocol: str, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, f"http://{closed}")
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    with (
        serving(protocol, lambda rows: [SURE]) as url,
        connected(protocol, url, 10.0) as client,
    ):
        assert client.classify([b"x"]) == [SURE]


def test_threads_ask_at_the_same_time(protocol: str) -> None:
    together = threading.Barrier(4, timeout=10)

    def model(rows: Rows) -> list[Answer]:
        together.wait()
        return [SURE]

    with serving(protocol, model) as url, connected(protocol, url, 10.0) as client:
        images = [[b"x"]] * 8
        assert list(in_order(client.classify, images, 4)) == [[SURE]] * 8


@pytest.mark.parametrize(
    ("refusal", "kind", "message"),
    [
        (Refusal("INVALID_ARGUMENT", f"{IN_ENSEMBLE}invalid_input: a: b"), InvalidInput, "a: b"),
        (
            Refusal("UNAVAILABLE", f"{IN_ENSEMBLE}Exceeds maximum queue size"),
            Overloaded,
            "Exceeds maximum queue size",
        ),
        (Refusal("NOT_FOUND", UNKNOWN_MODEL), ModelUnavailable, UNKNOWN_MODEL),
        (Refusal("INTERNAL", "Stub process is not healthy"), BackendFailure, "Stub process"),
    ],
)
def test_a_refusal_keeps_its_cause(
    protocol: str, refusal: Refusal, kind: type[ServingError], message: str
) -> None:
    with serving(protocol, lambda rows: refusal) as url:
        error = failure(protocol, url)
    assert type(error) is kind
    assert message in str(error)
    assert isinstance(error.__cause__, InferenceServerException)


def test_an_answer_for_another_number_of_images_is_a_backend_failure(protocol: str) -> None:
    with serving(protocol, lambda rows: [SURE, SURE]) as url:
        error = failure(protocol, url)
    assert type(error) is BackendFailure
    assert "expected (1, k) of each, got [(2, 2)" in str(error)
    assert error.__cause__ is None


def test_nobody_listens(protocol: str, closed: str) -> None:
    error = failure(protocol, closed)
    assert type(error) is ModelUnavailable
    assert closed in str(error)
    assert "Connection refused" in str(error)


def test_a_port_of_the_other_protocol_is_hinted_at(protocol: str) -> None:
    with serving(OTHER[protocol], lambda rows: [SURE]) as url:
        error = failure(protocol, url)
    assert type(error) is ModelUnavailable
    assert "8000 for HTTP, 8001 for gRPC" in str(error)


def test_a_slow_model_is_told_from_a_silent_port(
    protocol: str, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = threading.Event()

    def model(rows: Rows) -> list[Answer]:
        done.wait(10)
        return [SURE]

    with serving(protocol, model) as url:
        slow = failure(protocol, url, timeout_s=0.2)
        done.set()
    monkeypatch.setattr(transport, "LIVE_TIMEOUT_S", 0.2)
    assert type(slow) is DeadlineExceeded
    assert "within 0.2 s" in str(slow)
    assert type(failure(protocol, silent, timeout_s=0.2)) is ModelUnavailable


@pytest.mark.parametrize(
    ("protocol", "url", "expected"),
    [
        ("grpc", None, "127.0.0.1:8001"),
        ("http", None, "127.0.0.1:8000"),
        ("grpc", "triton", "triton:8001"),
        ("http", "http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http", "HTTP://triton:80/models/", "triton:80/models"),
        ("grpc", "http://triton:9", "triton:9"),
        ("grpc", "grpc://triton", "triton:8001"),
        ("http", "[::1]:7", "[::1]:7"),
    ],
)
def test_urls_with_and_without_scheme(protocol: str, url: str | None, expected: str) -> None:
    assert host_port(protocol, url) == expected


@pytest.mark.parametrize(
    "url", ["https://a", "a:b", "::1", ":8000", "[::1", "a:99999", "a:1/b", "a:0"]
)
def test_a_url_that_means_nothing_is_a_usage_error(url: str) -> None:
    with pytest.raises(ContractMismatch, match="expected host:port") as caught:
        host_port("grpc", url)
    assert caught.value.exit_code == 2


def test_each_thread_has_its_own_http_client(monkeypatch: pytest.MonkeyPatch) -> None:
    client = transport.HttpTransport("x:1")
    made: list[Any] = []

    class Client:
        def infer(self, *_: Any) -> Any:
            raise ConnectionRefusedError(111, "Connection refused")

        def close(self) -> None:
            made.remove(self)

    def connect(timeout_s: float) -> Client:
        made.append(Client())
        return made[-1]  # type: ignore[no-any-return]

    monkeypatch.setattr(client, "_connect", connect)
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            client.classify([b"x"])
    assert len(made) == 1
    client.close()
    assert made == []

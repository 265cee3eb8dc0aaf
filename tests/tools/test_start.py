"""A crash in the start is tried again; anything else is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensemble.errors import BackendFailure
from tools.serve import serve
from tools.serve.installation import Installation
from tools.serve.options import QUANTILES, ServeOptions, command
from tools.serve.serve import START_ATTEMPTS, Server, Stopping


class Ended:
    """A process that ended with ``code``."""

    def __init__(self, code: int | None) -> None:
        self.code = code

    def exit_code(self) -> int | None:
        return self.code

    def kill(self) -> None:
        pass


def starting(monkeypatch: pytest.MonkeyPatch, codes: list[int | None]) -> tuple[Server, list[int]]:
    """A server whose first starts end with ``codes``; the one after them is good."""
    attempts: list[int] = []

    def start_once(server: Server, timeout_s: float) -> None:
        attempts.append(1)
        if len(attempts) <= len(codes):
            server._process = Ended(codes[len(attempts) - 1])  # type: ignore[assignment]
            raise BackendFailure("ended")

    monkeypatch.setattr(serve.Server, "_start_once", start_once)
    options = ServeOptions(Path(), "token", "prefix")
    return Server(Installation(Path("tritonserver")), options, Path("log"), Stopping()), attempts


def test_a_crash_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server, attempts = starting(monkeypatch, [-6, -11])
    server.start(timeout_s=1.0)
    assert len(attempts) == 3


def test_a_server_that_keeps_crashing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    server, attempts = starting(monkeypatch, [-6] * START_ATTEMPTS)
    with pytest.raises(BackendFailure):
        server.start(timeout_s=1.0)
    assert len(attempts) == START_ATTEMPTS


@pytest.mark.parametrize("code", [1, None], ids=["refused its configuration", "was not ready"])
def test_what_would_fail_again_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    server, attempts = starting(monkeypatch, [code])
    with pytest.raises(BackendFailure):
        server.start(timeout_s=1.0)
    assert len(attempts) == 1


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("::", "http://[::1]:8000"),
    ],
)
def test_the_server_is_reached_at_an_address_of_this_machine(address: str, url: str) -> None:
    assert ServeOptions(Path(), "", "", address=address).http_url == url


def flags(*extra: str) -> list[str]:
    return command(Installation(Path("t")), ServeOptions(Path(), "", "", extra=extra))


def test_the_metrics_keep_quantiles_unless_the_user_has_a_word_on_them() -> None:
    assert set(QUANTILES) <= set(flags())
    assert set(QUANTILES) <= set(flags("--metrics-config=counter_latencies=true"))
    off = "--metrics-config=summary_latencies=false"
    assert [one for one in flags(off) if "summary" in one] == [off]

"""A real answer or the right error, from a server that says what the test wants."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ensemble.errors import (
    BackendFailure,
    DeadlineExceeded,
    InvalidInput,
    ModelUnavailable,
    Overloaded,
    ServingError,
)
from tools.cli import main
from tools.serve import health
from tools.serve.ports import free_ports

INPUTS = {
    "ensemble": [{"name": "IMAGE", "datatype": "UINT8", "shape": [-1, -1]}],
    "classifier": [{"name": "PIXELS", "datatype": "FP32", "shape": [-1, 3, 2, 2]}],
}
CONFIG = {"name": "ensemble", "instance_group": [{"count": 2}]}
TIMEOUT_S = 0.2

Answer = tuple[int, bytes]


class Triton:
    """The few paths that are asked for; ``infer`` may be set to anything."""

    def __init__(self) -> None:
        self.url = ""
        self.infer: Callable[[], Answer | None] = lambda: (200, b"{}")
        self.metadata = {
            f"/v2/models/{model}": (200, json.dumps({"inputs": inputs}).encode())
            for model, inputs in INPUTS.items()
        }
        self.config: dict[str, Any] = dict(CONFIG)
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.released = threading.Event()

    def answer(self, path: str) -> Answer | None:
        if path.endswith("/infer"):
            return self.infer()
        if path.endswith("/config"):
            return 200, json.dumps(self.config).encode()
        if path.endswith("/stats"):
            rows = [{"name": "classifier", "execution_count": "7"}]
            return 200, json.dumps({"model_stats": rows}).encode()
        if path.endswith("/ready"):
            return (200 if "nobody" not in path else 400), b""
        if "/repository/" in path:
            return 200, b""
        unknown = f"Request for unknown model: '{path.rpartition('/')[2]}' is not found"
        return self.metadata.get(path, (400, json.dumps({"error": unknown}).encode()))


@pytest.fixture
def triton() -> Iterator[Triton]:
    one = Triton()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(b"")

        def do_POST(self) -> None:
            self.reply(self.rfile.read(int(self.headers["Content-Length"])))

        def reply(self, body: bytes) -> None:
            one.asked.append((self.path, dict(self.headers), body))
            answer = one.answer(self.path)
            if answer is None:
                self.wfile.write(b"no HTTP at all\r\n\r\n")
                return
            self.send_response(answer[0])
            self.send_header("Content-Length", str(len(answer[1])))
            self.end_headers()
            self.wfile.write(answer[1])

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        one.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield one
        one.released.set()
        server.shutdown()
        thread.join()


def never(triton: Triton) -> Callable[[], Answer]:
    def wait() -> Answer:
        triton.released.wait(60)
        return 200, b"{}"

    return wait


# A good answer


def test_a_real_image_is_asked_about(triton: Triton) -> None:
    assert 0 < health.check(triton.url) < 5
    path, headers, body = triton.asked[-1]
    assert path == "/v2/models/ensemble/infer"
    header = int(headers["Inference-Header-Content-Length"])
    image = body[header:]
    assert image.startswith(b"\xff\xd8\xff")
    assert json.loads(body[:header])["inputs"] == [
        {
            "name": "IMAGE",
            "shape": [1, len(image)],
            "datatype": "UINT8",
            "parameters": {"binary_data_size": len(image)},
        }
    ]


def test_a_stage_is_asked_about_zeros(triton: Triton) -> None:
    health.check(triton.url, "classifier")
    _, headers, body = triton.asked[-1]
    header = int(headers["Inference-Header-Content-Length"])
    assert body[header:] == bytes(3 * 2 * 2 * 4)
    assert json.loads(body[:header])["inputs"][0]["shape"] == [1, 3, 2, 2]


def test_no_proxy_is_asked(triton: Triton, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_ports(1)[0]}")
    health.check(triton.url)


# Each bad one


@pytest.mark.parametrize(
    ("status", "body", "kind", "exit_code"),
    [
        (503, b'{"error":"Exceeds maximum queue size"}', Overloaded, 1),
        (500, b'{"error":"Stub process \'p_0_0\' is not healthy."}', BackendFailure, 1),
        (400, b'{"error":"expected an image"}', InvalidInput, 1),
        (400, b'{"error":"Request for unknown model: \'p\'"}', ModelUnavailable, 3),
        (404, b"", ModelUnavailable, 3),
        (500, b"<html>not JSON</html>", BackendFailure, 1),
    ],
)
def test_each_refusal_has_its_error(
    triton: Triton, status: int, body: bytes, kind: type[ServingError], exit_code: int
) -> None:
    triton.infer = lambda: (status, body)
    with pytest.raises(ServingError) as found:
        health.check(triton.url)
    assert type(found.value) is kind
    assert found.value.exit_code == exit_code
    assert f"{triton.url}/v2/models/ensemble/infer: " in str(found.value)
    if body.startswith(b"{"):
        assert str(found.value).endswith(json.loads(body)["error"])


def test_a_model_that_is_not_there(triton: Triton) -> None:
    with pytest.raises(ModelUnavailable, match="unknown model: 'nobody'"):
        health.check(triton.url, "nobody")


def test_nobody_listens() -> None:
    with pytest.raises(ModelUnavailable, match="Connection refused"):
        health.check(f"http://127.0.0.1:{free_ports(1)[0]}")


def test_a_host_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*arguments: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ModelUnavailable, match=r"http://gpu-7:8000/.*: .*not known"):
        health.check("http://gpu-7:8000")


def test_no_answer_in_time(triton: Triton) -> None:
    triton.infer = never(triton)
    with pytest.raises(DeadlineExceeded, match=r"/infer: no answer within 0\.2 s"):
        health.check(triton.url, timeout_s=TIMEOUT_S)


def test_somebody_who_speaks_no_http(triton: Triton) -> None:
    """Such as the gRPC port of the same server."""
    triton.infer = lambda: None
    with pytest.raises(ModelUnavailable, match="no HTTP at all"):
        health.check(triton.url)


def test_another_web_server(triton: Triton) -> None:
    triton.metadata["/v2/models/ensemble"] = (200, b"<html>It works!</html>")
    with pytest.raises(ModelUnavailable, match="expected Triton's JSON, got b'<html>"):
        health.check(triton.url)


# The command line


@pytest.mark.parametrize("prefix", ["http://", ""])
def test_the_command_says_how_long_it_took(
    triton: Triton, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = prefix + triton.url.removeprefix("http://")
    assert main(["health", "--url", url]) == 0
    assert capsys.readouterr().out.startswith("ensemble answered in ")


def test_the_command_s_exit_codes(triton: Triton, capsys: pytest.CaptureFixture[str]) -> None:
    triton.infer = lambda: (500, b'{"error":"dead"}')
    assert main(["health", "--url", triton.url]) == 1
    assert "tandem: backend_failure: " in capsys.readouterr().err
    assert main(["health", "--url", f"127.0.0.1:{free_ports(1)[0]}"]) == 3
    assert "tandem: model_unavailable: " in capsys.readouterr().err


# What the watcher asks


def test_a_load_is_never_twice_the_same(triton: Triton) -> None:
    """Triton ignores a load that changes nothing, so each one counts itself."""
    for count in ("1", "2"):
        health.load(triton.url, "ensemble", "secret")
        path, headers, body = triton.asked[-1]
        assert path == "/v2/repository/models/ensemble/load"
        assert {name.lower(): value for name, value in headers.items()}["tandem-token"] == "secret"
        config = json.loads(json.loads(body)["parameters"]["config"])
        assert config.pop("parameters") == {health.RELOADS: {"string_value": count}}
        assert config == CONFIG
        triton.config["parameters"] = {health.RELOADS: {"string_value": count}}


def test_a_load_keeps_the_other_parameters(triton: Triton) -> None:
    triton.config["parameters"] = {"num_threads": {"string_value": "1"}}
    health.load(triton.url, "ensemble", "secret")
    config = json.loads(json.loads(triton.asked[-1][2])["parameters"]["config"])
    assert config["parameters"]["num_threads"] == {"string_value": "1"}


def test_the_end_of_a_trace_is_asked_for_with_the_token(triton: Triton) -> None:
    with pytest.raises(ServingError):
        health.end_trace(triton.url, "secret")
    triton.metadata["/v2/trace/setting"] = (200, b"{}")
    health.end_trace(triton.url, "secret")
    path, headers, body = triton.asked[-1]
    assert (path, json.loads(body)) == ("/v2/trace/setting", {"trace_level": ["OFF"]})
    assert {name.lower(): value for name, value in headers.items()}["tandem-token"] == "secret"


def test_readiness_and_counts(triton: Triton) -> None:
    assert health.is_ready(triton.url)
    assert health.is_ready(triton.url, "ensemble")
    assert not health.is_ready(triton.url, "nobody")
    assert not health.is_ready(f"http://127.0.0.1:{free_ports(1)[0]}")
    assert health.execution_counts(triton.url) == {"classifier": 7}


def test_the_probe_is_a_photograph_that_decodes() -> None:
    from PIL import Image

    with Image.open(Path(health.__file__).with_name("probe.jpg")) as image:
        image.load()
        assert min(image.size) > 0


def test_a_url_that_is_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", "--url", "http://[bad"]) == 2
    assert "http://[bad: expected http://host:port" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["-1", "0", "soon"])
def test_a_time_to_wait_is_above_zero(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["health", "--timeout-s", text])
    assert "expected seconds above 0" in capsys.readouterr().err


def test_a_probe_does_not_pay_for_the_client() -> None:
    """Probes run every few seconds: numpy and tritonclient would be most of their time."""
    code = "import sys, tools.cli as c; c.build_parser(); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "tritonclient", "grpc"}.isdisjoint(found.stdout.split())

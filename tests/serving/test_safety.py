"""Who may do what to a server, and what it leaves behind."""

from __future__ import annotations

import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from tests.conftest import ROOT, SAMPLES, RunningServer, free_ports, running_server
from tests.serving.clients import PROTOCOLS, connect
from tests.serving.pictures import stack
from tests.serving.processes import alive, regions, stubs, tritonserver
from tests.serving.repositories import light

SERVE = [sys.executable, "-m", "tools", "serve"]
TOKEN = {"http": "tandem-token", "grpc": "triton-grpc-protocol-tandem-token"}
REFUSED = {"http": ("403", "restricted"), "grpc": ("StatusCode.UNAVAILABLE", "restricted")}
KINDS = ("http", "grpc", "metrics")
STOP_S = 15.0

MANAGEMENT = {
    "get_model_repository_index": (),
    "load_model": ("ensemble",),
    "unload_model": ("ensemble",),
    "get_trace_settings": (),
    "update_trace_settings": ("ensemble", {"trace_level": ["TIMESTAMPS"]}),
    "get_log_settings": (),
    "update_log_settings": ({"log_verbose_level": 1},),
    "get_system_shared_memory_status": (),
    "register_system_shared_memory": ("stolen", "/stolen", 4),
    "unregister_system_shared_memory": (),
    "get_cuda_shared_memory_status": (),
    "register_cuda_shared_memory": ("stolen", b"", 0, 4),
    "unregister_cuda_shared_memory": (),
}
"""Methods of both of tritonclient's clients that read or change the server itself."""

pytestmark = pytest.mark.server


@contextmanager
def triton(server: RunningServer, protocol: str) -> Iterator[Any]:
    module, url = {
        "http": (tritonclient.http, server.http),
        "grpc": (tritonclient.grpc, server.grpc),
    }[protocol]
    with module.InferenceServerClient(url) as client:
        yield client


# The management APIs


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("token", [None, "wrong"])
@pytest.mark.parametrize("method", MANAGEMENT)
def test_management_is_refused(
    server: RunningServer, protocol: str, method: str, token: str | None
) -> None:
    headers = {} if token is None else {TOKEN[protocol]: token}
    with triton(server, protocol) as client, pytest.raises(InferenceServerException) as refused:
        getattr(client, method)(*MANAGEMENT[method], headers=headers)
    status, word = REFUSED[protocol]
    assert refused.value.status() == status
    assert word in refused.value.message()
    assert server.token not in refused.value.message()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_management_works_with_the_token(server: RunningServer, protocol: str) -> None:
    headers = {TOKEN[protocol]: server.token}
    with triton(server, protocol) as client:
        index = client.get_model_repository_index(headers=headers)
        for method in MANAGEMENT:
            if method.startswith("get_"):
                getattr(client, method)(headers=headers)
    rows = (
        index if protocol == "http" else [{"name": m.name, "state": m.state} for m in index.models]
    )
    assert {row["name"]: row["state"] for row in rows} == dict.fromkeys(
        ("ensemble", "preprocess", "classifier", "postprocess"), "READY"
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_health_and_inference_need_no_token(server: RunningServer, protocol: str) -> None:
    with triton(server, protocol) as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("ensemble")
        assert client.get_model_metadata("ensemble")
        assert client.get_inference_statistics("ensemble")
    with connect(server, protocol) as asked:
        assert asked.infer("ensemble", stack([(SAMPLES / "rocket.jpg").read_bytes()]))


# What it shows to the machine


def test_it_listens_on_this_machine_only(server: RunningServer) -> None:
    listening = {
        (one.laddr.ip.removeprefix("::ffff:"), one.laddr.port)  # an IPv4 address in IPv6 notation
        for one in tritonserver(server).net_connections("inet")
        if one.status == psutil.CONN_LISTEN
    }
    ports = (server.http_port, server.grpc_port, server.metrics_port)
    assert listening == {("127.0.0.1", port) for port in ports}


def test_the_token_file_is_the_owner_s_alone(server: RunningServer) -> None:
    file = server.output.with_name("token")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(server.token) >= 32
    assert server.token not in server.said()


def test_shared_memory_is_the_owner_s_alone(server: RunningServer) -> None:
    """Images and answers pass through it."""
    found = regions(server)
    assert len(found) == len(stubs(server)) > 0
    assert {stat.S_IMODE(region.stat().st_mode) for region in found} == {0o600}


# What it says no to, before it starts anything


def test_a_taken_port_is_named_before_anything_starts(tmp_path: Path) -> None:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(3)]
        flags = [f"--{kind}-port" for kind in KINDS]
        arguments = []
        for flag, one in zip(flags, taken, strict=True):
            one.bind(("127.0.0.1", 0))
            one.listen()
            arguments += [flag, str(one.getsockname()[1])]
        start_s = time.monotonic()
        run = subprocess.run(
            [*SERVE, *arguments, "--token-file", str(tmp_path / "token")],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert run.returncode == 2
    assert time.monotonic() - start_s < 3.0
    for flag, port in zip(flags, arguments[1::2], strict=True):
        assert re.search(f"127.0.0.1:{port}: .*give another {flag}", run.stderr)
    assert "Traceback" not in run.stderr
    assert list(tmp_path.iterdir()) == []


# How it ends


def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        assert len(stubs(server)) >= 3
        _check_it_ends(server, signal.SIGINT)


def test_a_service_manager_s_stop_ends_everything(tmp_path: Path) -> None:
    with running_server(tmp_path, "--repository", str(light(tmp_path / "repository"))) as server:
        _check_it_ends(server, signal.SIGTERM)


def test_ctrl_c_while_it_starts(tmp_path: Path) -> None:
    flags = [f"--{kind}-port={port}" for kind, port in zip(KINDS, free_ports(3), strict=True)]
    with subprocess.Popen(
        [*SERVE, *flags], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        me = psutil.Process(process.pid)
        while not (started := me.children()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert alive(started) == []
    assert process.returncode in (0, 130)
    assert output == ""


def _check_it_ends(server: RunningServer, number: signal.Signals) -> None:
    """All processes and shared memory of it are gone in time, and the exit is a good one."""
    started = [tritonserver(server), *stubs(server).values()]
    memory = regions(server)
    start_s = time.monotonic()
    server.process.send_signal(number)
    code = server.process.wait(timeout=60)
    assert time.monotonic() - start_s < STOP_S
    assert alive(started) == []
    assert code in (0, 130)
    assert [region for region in memory if region.exists()] == []
    assert "Traceback" not in server.said()

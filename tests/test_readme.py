"""Every block of the README and of docs/serving.md does what it says."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, RunningServer
from tests.serving.load import load
from tools.serve.ports import free_ports

PAGES = ("README.md", "docs/serving.md")
# Run elsewhere in this file, or by whoever runs this file.
STARTS = {"make serve\n": "test_make_serve", "make test\n": "this run"}
NEEDS_ENGINE = "sh docker"
CALLERS = 12
"""While the doctor watches, as the page asks for."""
SHORT = "--load concurrency=2 --rounds 1 --duration-s 1"
"""Of a measurement that takes minutes."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, language and text."""

    page: str
    language: str
    text: str


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        pattern = r"^```([^\n]*)\n(.*?)^```$"
        fenced = re.findall(pattern, text, flags=re.MULTILINE | re.DOTALL)
        found += [Block(page, language.strip(), body) for language, body in fenced]
    return found


def named(language: str) -> list[Block]:
    return [block for block in blocks() if block.language == language]


def identity(block: Block) -> str:
    return f"{block.page}: {block.text.splitlines()[0][:40]}"


def at(server: RunningServer, text: str) -> str:
    """The block, spoken to the server of this test run."""
    text = text.replace("127.0.0.1:8001", server.grpc).replace("127.0.0.1:8000", server.http)
    text = text.replace("bench --profiles", f"bench {SHORT} --profiles")
    return text.replace("classify samples/", f"classify samples/ --url {server.grpc}")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {block.language for block in blocks()} == {"sh", "python", NEEDS_ENGINE, "yaml"}


@pytest.mark.server
@pytest.mark.parametrize("block", named("python"), ids=identity)
def test_a_python_block_prints_the_right_label(server: RunningServer, block: Block) -> None:
    done = subprocess.run(
        [sys.executable, "-c", at(server, block.text)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("espresso 0.9")


@pytest.mark.server
@pytest.mark.parametrize("block", named("sh"), ids=identity)
def test_a_shell_block_runs(server: RunningServer, block: Block, tmp_path: Path) -> None:
    if block.text in STARTS:
        pytest.skip(f"covered by {STARTS[block.text]}")
    for name in ("bulk", "own"):
        shutil.rmtree(ROOT / "build" / name, ignore_errors=True)
    tandem = tmp_path / "tandem"
    tandem.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tools "$@"\n')
    tandem.chmod(0o755)
    text = at(server, block.text).replace(".venv/bin/tandem", str(tandem))
    traffic = load(server, CALLERS) if "doctor" in text else nullcontext()
    with traffic:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env=environment(),
            timeout=60,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    if "samples/" in text:
        assert "espresso" in done.stdout


@pytest.mark.parametrize("block", named(NEEDS_ENGINE), ids=identity)
def test_a_block_for_docker_is_shell_and_names_what_is_there(block: Block) -> None:
    subprocess.run(["bash", "-n", "-c", block.text], check=True)
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for release in re.findall(r"tritonserver:(\S+)-py3", block.text):
        assert f"ARG TRITON_RELEASE={release}\n" in dockerfile
    for name in re.findall(r"/opt/tandem/([\w./-]+)", block.text):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("block", named("yaml"), ids=identity)
def test_the_probes_call_what_the_image_calls(block: Block) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    commands = re.findall(r"command: \[(.*)\]", block.text)
    assert len(commands) == 3
    for command in commands:
        assert command.startswith('"python3", "-m", "tools", "health"')
    assert 'CMD ["python3", "-m", "tools", "health"]' in dockerfile


@pytest.mark.server
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_serve(tmp_path: Path) -> None:
    """``make serve`` says READY and the line to try; Ctrl-C stops all that it started."""
    if not (ROOT / ".venv" / "ready").exists():
        pytest.skip("needs the environment that make itself set up")
    http, grpc, metrics = free_ports(3)
    ports = f"--http-port={http} --grpc-port={grpc} --metrics-port={metrics}"
    output = tmp_path / "output"
    with output.open("wb") as out:
        process = subprocess.Popen(
            ["make", "serve", f"ARGS={ports} --token-file={tmp_path / 'token'}"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 120
        while "Try:" not in output.read_text() and process.poll() is None:
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.2)
        assert "READY" in output.read_text()
        assert f"classify samples/ --url 127.0.0.1:{grpc}" in output.read_text()
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=60)
    words = ["pgrep", "-f", str(tmp_path / "token")]
    assert subprocess.run(words, capture_output=True, check=False).stdout == b""

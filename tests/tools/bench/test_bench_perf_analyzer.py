"""perf_analyzer as an engine: a script in its place, which leaves what the test says."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tools.bench import perf_analyzer as module
from tools.bench.perf_analyzer import PerfAnalyzer
from tools.load.generated import Generated
from tools.load.loads import ClosedLoop, OpenLoop, RequestClass, Run

CLOSED = Run("grpc", "h:8001", "ensemble", ClosedLoop(1), 1.0, (RequestClass([b"image"]),))
OPEN = Run("grpc", "h:8001", "ensemble", OpenLoop(np.array([0.0, 0.1])), 1.0, CLOSED.mix)
EXPORT = """
import json, sys, time
time.sleep(0.1)  # else Python's start is all that it does, which keeps a core busy
ms = 1_000_000
pairs = [(0, 100 * ms), (100 * ms, 350 * ms)]
requests = [{"timestamp": s, "response_timestamps": [a]} for s, a in pairs]
path = sys.argv[sys.argv.index("--profile-export-file") + 1]
with open(path, "x") as file:
    json.dump({"experiments": [{"window_boundaries": [0], "requests": requests}]}, file)
"""
FAILS = """
import sys
print("WARNING: data type 'UINT8' is not supported with JSON.", file=sys.stderr)
print("Thread [1] had error: \\x1b[2JExceeds maximum queue size", file=sys.stderr)
sys.exit(99)
"""
HANGS = "import signal\nsignal.pause()\n"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PerfAnalyzer]:
    monkeypatch.setattr(module, "program", lambda: tmp_path / "perf_analyzer")
    with PerfAnalyzer() as one:
        yield one


def run(tmp_path: Path, engine: PerfAnalyzer, script: str, what: Run = CLOSED) -> Generated:
    path = tmp_path / "perf_analyzer"
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(0o755)
    return engine.run(what)


def test_a_closed_loop_lasts_as_long_as_all_of_it_is_listed(
    tmp_path: Path, engine: PerfAnalyzer
) -> None:
    for _ in range(2):  # the second finds the export of the first
        found = run(tmp_path, engine, EXPORT)
        assert found.samples.latency_s == pytest.approx([0.1, 0.25])
        assert found.duration_s == pytest.approx(0.35)
        assert (found.unlisted, found.fault, found.interrupted) == (1, None, False)
        assert found.cpu_s > 0
        assert found.late is None


def test_an_open_loop_has_its_own_duration(tmp_path: Path, engine: PerfAnalyzer) -> None:
    found = run(tmp_path, engine, EXPORT, OPEN)
    assert found.samples.due_s.tolist() == [0.0, 0.1]
    assert (found.duration_s, found.unlisted) == (None, 0)


def test_a_request_that_fails_ends_the_run_and_is_quoted(
    tmp_path: Path, engine: PerfAnalyzer
) -> None:
    found = run(tmp_path, engine, FAILS)
    assert found.fault is not None
    assert found.fault.startswith("perf_analyzer ended with 99: Thread [1] had error: ?[2JExceeds")
    assert len(found.samples) == 0


def test_without_an_error_its_last_words_are_quoted(tmp_path: Path, engine: PerfAnalyzer) -> None:
    found = run(
        tmp_path, engine, "import sys; print('Measured'); print('Failed to\\n'); sys.exit(2)"
    )
    assert found.fault == "perf_analyzer ended with 2: Failed to"


def test_a_program_that_was_killed_is_a_fault(tmp_path: Path, engine: PerfAnalyzer) -> None:
    found = run(tmp_path, engine, "import os; os.kill(os.getpid(), 9)")
    assert found.fault == "perf_analyzer ended with -9: nothing"


def test_a_program_that_leaves_nothing_is_a_fault(tmp_path: Path, engine: PerfAnalyzer) -> None:
    found = run(tmp_path, engine, "")
    assert found.fault is not None
    assert "expected requests, got FileNotFoundError" in found.fault


def test_a_program_that_hangs_is_ended(
    tmp_path: Path, engine: PerfAnalyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_EXTRA_S", -30.9)  # of 1 s and the caller's 30 s
    found = run(tmp_path, engine, HANGS)
    assert found.fault == "perf_analyzer did not end within 0 s"


def test_a_script_around_the_program_is_ended_with_it(tmp_path: Path, engine: PerfAnalyzer) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    path = tmp_path / "perf_analyzer"
    path.write_text(f"#!/bin/sh\nsh -c 'echo I am here; sleep 60' > {pipe}\n")
    path.chmod(0o755)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def interrupt_once_it_runs(_: float) -> None:
        if select.select([reader], [], [], 0)[0] and os.read(reader, 100):
            raise KeyboardInterrupt

    assert engine.run(CLOSED, interrupt_once_it_runs).interrupted
    assert select.select([reader], [], [], 10)[0]  # nobody holds the other end any more
    assert os.read(reader, 100) == b""
    os.close(reader)


def test_ctrl_c_ends_it_without_samples(tmp_path: Path, engine: PerfAnalyzer) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "perf_analyzer"
    path.write_text(f"#!{sys.executable}\n{HANGS}")
    path.chmod(0o755)
    found = engine.run(CLOSED, interrupt)
    assert found.interrupted
    assert len(found.samples) == 0

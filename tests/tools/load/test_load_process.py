"""The generator's process: reused, interrupted, killed, orphaned."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from ensemble.errors import BackendFailure, ContractMismatch
from tests.conftest import ROOT
from tests.fakes.load_server import LoadServer
from tools.load.generator import Generator
from tools.load.loads import ClosedLoop, OpenLoop, RequestClass, Run

MIX = (RequestClass([b"image"]),)
LONG_S = 600.0
PROGRAM = """
import json, os, sys
import numpy as np
from tools.load.generator import Generator
from tools.load.loads import OpenLoop, RequestClass, Run

if __name__ == "__main__":
    load = OpenLoop(np.arange(0, 600, 0.01))
    run = Run("grpc", sys.argv[1], "at_once", load, 600.0, (RequestClass([b"image"]),))
    with Generator() as generator:
        child = generator._process.pid
        tick = lambda passed_s: print(json.dumps([child, passed_s]), flush=True)
        generated = generator.run(run, tick)
    print(json.dumps([len(generated.samples), generated.interrupted]), flush=True)
"""


def run_of(stub: LoadServer, mix: tuple[RequestClass, ...] = MIX, model: str = "at_once") -> Run:
    load = OpenLoop(np.arange(5) / 1000)
    return Run("grpc", stub.addresses["grpc"], model, load, 0.05, mix)


def long_run(stub: LoadServer) -> Run:
    return Run("grpc", stub.addresses["grpc"], "silent", ClosedLoop(2), LONG_S, MIX)


@pytest.fixture
def program(stub: LoadServer, tmp_path: Path) -> subprocess.Popen[str]:
    """Someone who measures for ten minutes, in a process group as a shell has it."""
    path = tmp_path / "measuring.py"
    path.write_text(PROGRAM)
    return subprocess.Popen(
        [sys.executable, path, stub.addresses["grpc"]],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def first_tick(program: subprocess.Popen[str], after_s: float) -> int:
    """The generator's process id, once it has sent for so long."""
    assert program.stdout is not None
    for line in program.stdout:
        child, passed_s = json.loads(line)
        if passed_s >= after_s:
            return int(child)
    pytest.fail(f"it ended: {program.communicate()[1]}")


def test_one_process_takes_many_runs(generator: Generator, stub: LoadServer) -> None:
    first = generator.run(run_of(stub))
    second = generator.run(run_of(stub, (*MIX, RequestClass([b"image", b"new"], rows=2))))
    assert len(first.samples) == len(second.samples) == 5
    assert second.samples.served.all()
    assert 0 < second.cpu_s < second.wall_s < LONG_S
    assert not second.interrupted


@pytest.mark.parametrize(
    ("protocol", "server", "model"),
    [("grpc-bytes", "grpc", "at_once"), ("post", "http", "v2/models/at_once/infer")],
)
def test_servers_that_are_no_tritons_are_asked_their_own_way(
    generator: Generator, stub: LoadServer, protocol: str, server: str, model: str
) -> None:
    load = OpenLoop(np.arange(5) / 1000)
    sent = generator.run(Run(protocol, stub.addresses[server], model, load, 0.05, MIX))
    assert sent.samples.served.tolist() == [True] * 5


def test_a_run_that_cant_be_sent_is_an_error_and_the_next_one_goes_on(
    generator: Generator, stub: LoadServer
) -> None:
    with pytest.raises(ContractMismatch, match="expected classes"):
        generator.run(run_of(stub, (RequestClass([]),)))
    assert generator.run(run_of(stub)).samples.served.all()


def test_an_error_of_the_caller_ends_the_run_and_the_next_one_goes_on(
    generator: Generator, stub: LoadServer
) -> None:
    def fail(passed_s: float) -> None:
        raise RuntimeError("the caller's own")

    with pytest.raises(RuntimeError, match="own"):
        generator.run(long_run(stub), fail)
    assert generator.run(run_of(stub)).samples.served.all()


def test_connections_are_not_bounded_by_the_soft_limit_of_the_shell(stub: LoadServer) -> None:
    """Else what the generator can't open would look like a network that broke."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = 50 + max(map(int, os.listdir("/proc/self/fd")))  # what this test run has open already
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        with Generator() as generator:
            run = Run("http", stub.addresses["http"], "silent", ClosedLoop(limit + 50), 0.1, MIX)
            samples = generator.run(replace(run, timeout_s=2.0)).samples
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert samples.errors() == {"deadline": limit + 50}


def test_progress_is_told_in_seconds_of_the_load(generator: Generator, stub: LoadServer) -> None:
    seen: list[float] = []
    generator.run(run_of(stub, model="line-tick"), seen.append)  # for half a second
    assert seen == sorted(seen)
    assert seen
    assert 0 <= seen[0] < seen[-1] < LONG_S


def test_ctrl_c_keeps_what_was_measured(program: subprocess.Popen[str]) -> None:
    first_tick(program, 0.3)
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does: to everybody
    out, err = program.communicate(timeout=60)
    assert not err
    count, interrupted = json.loads(out.splitlines()[-1])
    assert interrupted
    assert 20 <= count < 60 * 100  # one each 10 ms for 0.3 s and as long as it took to stop
    assert (err, program.returncode) == ("", 0)


def test_no_orphan_is_left(program: subprocess.Popen[str]) -> None:
    child = psutil.Process(first_tick(program, 0.0))
    program.kill()
    program.communicate()
    child_is_gone = psutil.wait_procs([child], timeout=30)[0]
    assert child_is_gone or child.status() == psutil.STATUS_ZOMBIE


def test_a_generator_that_dies_is_an_error(stub: LoadServer) -> None:
    with Generator() as generator:

        def kill(passed_s: float) -> None:
            os.kill(generator._process.pid or 0, signal.SIGKILL)

        start_s = time.monotonic()
        with pytest.raises(BackendFailure, match="ended in the middle, exit code -9"):
            generator.run(long_run(stub), kill)
        with pytest.raises(BackendFailure, match="ended in the middle, exit code -9"):
            generator.run(run_of(stub))
        assert time.monotonic() - start_s < LONG_S

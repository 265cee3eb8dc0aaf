"""A short run on the real server, and one on servers that bench starts itself."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.conftest import RunningServer
from tests.tools.bench.test_bench_options import parsed
from tools.bench.options import run
from tools.record.record import Record, read

pytestmark = pytest.mark.server


def bench(path: Path, *words: str) -> Record:
    out, err = io.StringIO(), io.StringIO()
    code = run(parsed(*words, "--out", str(path)), out, err)
    assert code in (0, 1), out.getvalue() + err.getvalue()  # 1: too busy for every schedule
    return read(path)


def test_a_server_that_runs_is_measured_over_both_protocols(
    server: RunningServer, tmp_path: Path
) -> None:
    url = f"here={server.http},grpc={server.grpc_port},metrics={server.metrics_port}"
    mix = ("--class", "name=pair,rows=2,share=0.3,timeout-ms=5000", "--class", "name=one")
    words = ("--url", url, "--protocol", "grpc,http", "--load", "concurrency=1")
    record = bench(tmp_path / "r.json", *words, *mix, "--rounds", "1", "--duration-s", "1")
    assert [cell.protocol for cell in record.cells] == ["grpc", "http"]
    assert record.targets[0].steps == ("preprocess", "classifier", "postprocess")
    assert record.targets[0].profile is None
    for cell in record.cells:
        assert cell.samples.errors() == {}
        assert cell.resources.server_cpu_s is None
        assert cell.stages[-1].model == "ensemble"
        # `serve` itself asks for an image every other second.
        assert cell.stages[-1].requests - len(cell.samples) in (0, 1, 2)


def test_two_servers_of_our_own_run_beside_each_other(tmp_path: Path) -> None:
    words = (
        "--profiles",
        "interactive,interactive",
        "--load",
        "rate=20",
        "--load",
        "concurrency=2",
    )
    short = ("--rounds", "1", "--duration-s", "0.5", "--max-batch-size", "2")
    record = bench(tmp_path / "r.json", *words, *short)
    assert [target.name for target in record.targets] == ["interactive", "interactive-2"]
    assert [size.rows for size in record.targets[0].warm_up] == [1, 2]
    for cell in record.cells:
        assert cell.samples.errors() == {}
        # The machine may be too busy for the schedule; then the cell says so, and nothing else.
        assert cell.unused is None or cell.unused.startswith("the generator")
        assert cell.resources.server_cpu_s
        assert cell.resources.resident_bytes
        assert cell.stages[0].sizes
    one, other = (cell.samples for cell in record.cells if cell.load.kind == "open")
    assert one.due_s == pytest.approx(other.due_s)
    assert one.kind.tolist() == other.kind.tolist()
    assert str(tmp_path) not in (tmp_path / "r.json").read_text()

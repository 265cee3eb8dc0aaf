"""What ``serve --record-arrivals`` costs: ``python -m benchmarks.tracing``.

CPU time of ``tritonserver`` for a request, with and without the trace, in turn on one server.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil

from benchmarks.record import write_record
from benchmarks.serving import Served, serving
from tools.serve.health import check
from tools.serve.options import TOKEN_HEADER

REQUESTS = {"postprocess": 400, "ensemble": 100}
"""In a block, one after another: of one model, and of three in an ensemble."""
TIMEOUT_S = 30.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracing", description=__doc__)
    parser.add_argument("--pairs", type=int, default=20, help="of blocks with and without")
    parser.add_argument("--out", type=Path, help="record (default: benchmarks/records/…)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        token_file, trace = Path(folder) / "token", Path(folder) / "trace"
        recording = (f"--record-arrivals={trace}", f"--token-file={token_file}")
        with serving("interactive", *recording) as server:
            token = token_file.read_text().strip()
            pairs = {
                model: [_pair(server, token, model, number) for number in range(options.pairs)]
                for model in REQUESTS
            }
    for model, rows in pairs.items():
        extra = np.array([row["on"] - row["off"] for row in rows])
        error = extra.std(ddof=1) / len(extra) ** 0.5
        off = np.mean([row["off"] for row in rows])
        print(f"{model}: {off:.0f} us of CPU, the trace adds {extra.mean():.0f} ± {error:.0f} us")
    result = {"requests_in_a_block": REQUESTS, "cpu_us_per_request": pairs}
    print(f"record: {write_record('tracing', result, options.out)}")
    return 0


def _pair(server: Served, token: str, model: str, number: int) -> dict[str, float]:
    order = ("on", "off") if number % 2 else ("off", "on")
    return {level: _block_us(server, token, model, level) for level in order}


def _block_us(server: Served, token: str, model: str, level: str) -> float:
    """CPU time of a request, microseconds, the server's own, without its stubs."""
    body = json.dumps({"trace_level": ["TIMESTAMPS" if level == "on" else "OFF"]}).encode()
    url = f"{server.http_url}/v2/trace/setting"
    with urllib.request.urlopen(urllib.request.Request(url, body, {TOKEN_HEADER: token})):
        check(server.http_url, model, TIMEOUT_S)
    before_ns = _cpu_ns(server.process)
    for _ in range(REQUESTS[model]):
        check(server.http_url, model, TIMEOUT_S)
    return (_cpu_ns(server.process) - before_ns) / 1e3 / REQUESTS[model]


def _cpu_ns(process: psutil.Process) -> int:
    """Of all threads: finer than the process's own ticks of 10 ms."""
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


if __name__ == "__main__":
    raise SystemExit(main())

"""``make bench``: the served ensemble against its in-process limit, in one interleaved run.

Everything is measured in pairs, limit and server in turn, because machines are shared and drift;
what is reported is the median of the pairs' ratios and their range.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import inprocess, served, soak
from benchmarks.inprocess import Arrangement, Speed
from benchmarks.record import write_record
from tools.example.efficientnet_lite0 import ensure
from tools.export import ROOT
from tools.load.photographs import large, photographs
from tools.serve.ports import free_ports
from tools.serve.serve import EXAMPLE_MODEL

CLIENTS = 16
ARRANGEMENTS = (
    Arrangement(2, 1, 1),
    Arrangement(2, 1, 4),
    Arrangement(2, 1, 8),
    Arrangement(1, 2, 8),
)
ONE_BY_ONE = Arrangement(1, 1, 1)
PHOTOGRAPHS: dict[str, Callable[[], tuple[bytes, ...]]] = {
    "usual": photographs,
    "3mp": partial(large, 2048, 1536),
    "12mp": partial(large, 4000, 3000),
}

Measure = Callable[[], Speed]


@dataclass(frozen=True)
class Served:
    """A running ``tandem serve``.

    Attributes:
        grpc: host and port.
        http_url: the other one.
        process: the ``tritonserver``.
    """

    grpc: str
    http_url: str
    process: psutil.Process


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--pairs", type=int, default=7, help="limit and server in turn")
    parser.add_argument("--duration-s", type=float, default=6.0, help="of each half of a pair")
    parser.add_argument("--profile", default="interactive", help="of the served side")
    parser.add_argument("--soak-requests", type=int, default=20_000, help="0 leaves memory out")
    parser.add_argument("--out", type=Path, help="record (default: benchmarks/records/…)")
    parser.add_argument("--photographs", choices=PHOTOGRAPHS, default="usual", help="their size")
    options = parser.parse_args(arguments)
    result = {"settings": {k: str(v) for k, v in vars(options).items()}, **_measured(options)}
    _report(result)
    print(f"record: {write_record('serving', result, options.out)}")
    return 0


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    onnx, images = ensure(EXAMPLE_MODEL), PHOTOGRAPHS[options.photographs]()

    def in_process(arrangement: Arrangement, duration_s: float) -> Speed:
        return inprocess.measure(arrangement, onnx, duration_s, images)

    _say("finding the best in-process arrangement")
    tried = {a: in_process(a, options.duration_s / 2) for a in ARRANGEMENTS * 2}
    best = max(tried, key=lambda a: tried[a].images_per_s)
    result: dict[str, Any] = {
        "arrangements": [asdict(a) | asdict(s) for a, s in tried.items()],
        "best": asdict(best),
    }
    with serving(options.profile) as server:

        def by_server(clients: int, duration_s: float) -> Speed:
            return served.measure(server.grpc, server.process, clients, duration_s, images)

        result["throughput"] = _pairs(
            f"{CLIENTS} clients against {best}",
            lambda: in_process(best, options.duration_s),
            lambda: by_server(CLIENTS, options.duration_s),
            options.pairs,
        )
        result["one_client"] = _pairs(
            "one client, one image",
            lambda: in_process(ONE_BY_ONE, options.duration_s / 2),
            lambda: by_server(1, options.duration_s / 2),
            options.pairs,
        )
        if options.soak_requests:
            _say(f"{options.soak_requests} requests, some of them bad")
            result["memory"] = soak.run(server.grpc, server.process, options.soak_requests)
    return result


@contextlib.contextmanager
def serving(profile: str, *options: str) -> Iterator[Served]:
    """``tandem serve`` on free ports, as a user would run it, with further options."""
    http, grpc, metrics = free_ports(3)
    command = [sys.executable, "-m", "tools", "serve", f"--profile={profile}", *options]
    command += [f"--http-port={http}", f"--grpc-port={grpc}", f"--metrics-port={metrics}"]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None and not _said(output, "READY"):
                time.sleep(0.2)
            if process.poll() is not None:
                output.seek(0)
                raise SystemExit(output.read())
            children = psutil.Process(process.pid).children()
            yield Served(f"127.0.0.1:{grpc}", f"http://127.0.0.1:{http}", children[0])
        finally:
            process.terminate()
            process.wait()


def _said(output: Any, word: str) -> bool:
    output.seek(0)
    return word in output.read()


def _pairs(name: str, limit: Measure, server: Measure, count: int) -> list[dict[str, Any]]:
    rows = []
    for number in range(count):
        # Every other pair starts with the server, so that a drift does not favour one side.
        halves = {"limit": limit, "served": server}
        order = sorted(halves, reverse=number % 2 == 1)
        speeds = {half: asdict(halves[half]()) for half in order}
        rows.append({half: speeds[half] for half in halves})
        a, b = rows[-1]["limit"], rows[-1]["served"]
        _say(
            f"{name}, pair {number + 1} of {count}: "
            f"{b['images_per_s']:.0f} of {a['images_per_s']:.0f} images/s, "
            f"{b['cpu_ms_per_image']:.2f} against {a['cpu_ms_per_image']:.2f} ms CPU, "
            f"{b['latency_ms']:.1f} against {a['latency_ms']:.1f} ms"
        )
    return rows


def ratio(rows: list[dict[str, Any]], quantity: str) -> tuple[float, float, float]:
    """Median, least and greatest of served over limit."""
    ratios = [row["served"][quantity] / row["limit"][quantity] for row in rows]
    return float(np.median(ratios)), min(ratios), max(ratios)


def _report(result: dict[str, Any]) -> None:
    for name, rows, quantity, bar in (
        ("throughput, 16 clients", result["throughput"], "images_per_s", ">= 0.85"),
        ("server CPU per image", result["throughput"], "cpu_ms_per_image", "<= 1.11"),
        ("p50, one client", result["one_client"], "latency_ms", "<= 1.30"),
    ):
        median, least, greatest = ratio(rows, quantity)
        print(f"{name}: {median:.2f} of the limit [{least:.2f}..{greatest:.2f}], bar {bar}")
    for process, growth in result.get("memory", {}).get("growth_second_half", {}).items():
        print(f"memory of {process}: {growth:+.1%} over the second half, bar < 5%")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

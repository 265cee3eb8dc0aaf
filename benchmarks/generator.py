"""How much the load generator can do: on one core, against a server that does nothing on another.

``python -m benchmarks.generator`` takes a minute. Machines are shared: CPU time a request says more
than requests a second, and lateness is to be read beside that of a schedule that sends nothing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import numpy as np

from benchmarks.record import write_record
from tools.load.engine import Engine, Row
from tools.load.generated import Generated
from tools.load.generator import Generator
from tools.load.loads import ClosedLoop, OpenLoop, RequestClass, Run
from tools.load.requests import Payload, Requests
from tools.record.samples import OK, Floats

IMAGE_BYTES = 60_000
CALLERS = 32
RATE_PER_S = 1000
LEVELS = (50, 95, 99, 99.9)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generator", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of every load in turn")
    parser.add_argument("--duration-s", type=float, default=4.0, help="of each load")
    parser.add_argument("--out", type=Path, help="record (default: benchmarks/records/…)")
    options = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        parser.error("expected two cores, one for the generator and one for the server, got one")
    with _server(cores[1]) as address:
        os.sched_setaffinity(0, {cores[0]})  # the generator's process inherits it
        with Generator() as generator:
            loads = _loads(address, options.duration_s, generator)
            rows = [_row(name, load) for _ in range(options.rounds) for name, load in loads.items()]
    os.sched_setaffinity(0, cores)
    settings = {"image_bytes": IMAGE_BYTES, "callers": CALLERS, "duration_s": options.duration_s}
    path = write_record("generator", {"settings": settings, "rows": rows}, options.out)
    print("\n".join(_summary(rows)))
    print(f"record: {path}")
    return 0


def _loads(
    address: str, duration_s: float, generator: Generator
) -> dict[str, Callable[[], Generated]]:
    mix = (RequestClass([bytes([value]) * IMAGE_BYTES for value in range(16)]),)
    due_s = np.arange(0, duration_s, 1 / RATE_PER_S)
    closed = Run("grpc", address, "nothing", ClosedLoop(CALLERS), duration_s, mix)
    opened = replace(closed, loop=OpenLoop(due_s))
    return {
        "closed loop": lambda: generator.run(closed),
        f"{RATE_PER_S}/s": lambda: generator.run(opened),
        f"{RATE_PER_S}/s, nothing sent": lambda: _nothing_sent(due_s),
    }


def _nothing_sent(due_s: Floats) -> Generated:
    """The machine's own lateness: the same schedule, in this process on the same core."""

    class Nowhere:
        def send(self, payload: Payload, row: Row) -> None:
            row.handed()
            row.finish(OK)

        def close(self) -> None:
            pass

    requests = Requests([b""], [0], [0] * len(due_s))
    cpu_s, wall_s = process_time(), monotonic()
    samples = Engine(requests, Nowhere(), 1.0).open_loop(due_s)
    return Generated(samples, process_time() - cpu_s, monotonic() - wall_s)


def _row(name: str, load: Callable[[], Generated]) -> dict[str, Any]:
    stolen_s = _stolen_s()
    row = {"load": name, **_figures(load())}
    row["stolen_s"] = round(_stolen_s() - stolen_s, 2)
    print(row, file=sys.stderr, flush=True)
    return row


def _figures(generated: Generated) -> dict[str, Any]:
    samples = generated.samples
    late = np.percentile(1e3 * samples.late_s, LEVELS)
    return {
        "requests_per_s": round(len(samples) / generated.wall_s, 1),
        "cpu_ms_per_request": round(1e3 * generated.cpu_s / len(samples), 4),
        "late_ms": {f"p{n:g}": round(float(ms), 4) for n, ms in zip(LEVELS, late, strict=True)},
        "latency_p50_ms": round(1e3 * float(np.median(samples.latency_s)), 3),
        "errors": samples.errors(),
        "wall_s": round(generated.wall_s, 3),
    }


def _stolen_s() -> float:
    """What the hypervisor took from all cores so far."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def _summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    for name in dict.fromkeys(row["load"] for row in rows):
        mine = [row for row in rows if row["load"] == name]
        yield (
            f"{name}: {_spread([row['requests_per_s'] for row in mine], '.0f')} requests/s, "
            f"{_spread([row['cpu_ms_per_request'] for row in mine], '.3f')} ms CPU each, "
            f"late p99 {_spread([row['late_ms']['p99'] for row in mine], '.3f')} ms"
        )


def _spread(values: list[float], form: str) -> str:
    """Median, least and greatest."""
    return f"{np.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]"


@contextmanager
def _server(core: int) -> Iterator[str]:
    """The address of a gRPC server on one core that answers everything with nothing."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(core, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def _serve(core: int, pipe: Connection) -> None:
    os.sched_setaffinity(0, {core})
    # As in the generator: the thread that waits reads the socket itself. It halves the CPU time.
    os.environ["GRPC_EXPERIMENTS"] = "-event_engine_listener"
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
        method = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")

        def service(self, details: Any) -> Any:
            return self.method

    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    pipe.send(f"127.0.0.1:{port}")
    server.wait_for_termination()


if __name__ == "__main__":
    sys.exit(main())

"""What load generators see of a server that freezes for 1 s in every 10, and what they hide.

``python -m benchmarks.frozen`` takes five minutes; perf_analyzer comes with ``make perf-analyzer``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.batching.server import running
from benchmarks.batching.sleepers import Cost, Variant
from benchmarks.record import write_record
from tools.bench.engine import Engine
from tools.bench.perf_analyzer import PerfAnalyzer
from tools.load.generator import Generator
from tools.load.loads import ClosedLoop, OpenLoop, RequestClass, Run
from tools.perf_analyzer.export import read_export
from tools.perf_analyzer.program import program, version_of
from tools.record.samples import Floats

ROUNDS = 3
RATE_PER_S, DURATION_S, CALLERS = 100, 20.0, 4
FIRST_S, FROZEN_S, EVERY_S = 4.5, 1.0, 10.0
MODEL = Variant("frozen", {"preprocess": Cost(1, 1)}, {"preprocess": {}})
LEVELS = (50, 95, 99)


@dataclass(frozen=True)
class Ways:
    """The load, put on one server by one program or another.

    Attributes:
        address: of gRPC.
        tandem: our generator.
        perf_analyzer: the other, as ``tandem bench`` runs it.
    """

    address: str
    tandem: Engine
    perf_analyzer: Engine

    def all(self) -> dict[str, Callable[[], Floats]]:
        """Name to latencies in seconds."""
        due_s = np.arange(1, RATE_PER_S * DURATION_S + 1) / RATE_PER_S
        opened, closed = self._run(OpenLoop(due_s)), self._run(ClosedLoop(CALLERS))
        return {
            "tandem, open loop": lambda: self.tandem.run(opened).samples.latency_s,
            "perf_analyzer, its defaults": self._by_defaults,
            "perf_analyzer, as tandem bench": lambda: (
                self.perf_analyzer.run(opened).samples.latency_s
            ),
            "tandem, closed loop": lambda: self.tandem.run(closed).samples.latency_s,
            "perf_analyzer, closed loop": lambda: self.perf_analyzer.run(closed).samples.latency_s,
        }

    def _run(self, loop: ClosedLoop | OpenLoop) -> Run:
        mix = (RequestClass([b"x"]),)
        return Run("grpc", self.address, MODEL.entry, loop, DURATION_S, mix)

    def _by_defaults(self) -> Floats:
        """Latency as it prints it: from when it had a thread free to send."""
        with tempfile.TemporaryDirectory() as folder:
            export = Path(folder) / "export.json"
            command = [str(program()), "-m", MODEL.entry, "-u", self.address, "-i", "grpc"]
            command += [
                "--request-rate-range",
                f"{RATE_PER_S}",
                "--profile-export-file",
                str(export),
            ]
            command += ["--request-count", f"{RATE_PER_S * DURATION_S:.0f}"]
            subprocess.run(command, check=True, capture_output=True)
            requests = read_export(export)
        return requests.answered_s - requests.sent_s


@contextmanager
def freezing(pid: int) -> Iterator[None]:
    """The process stops now and then, while the block runs."""
    over = threading.Event()

    def freeze() -> None:
        wait_s = FIRST_S
        while not over.wait(wait_s):
            os.kill(pid, signal.SIGSTOP)
            over.wait(FROZEN_S)
            os.kill(pid, signal.SIGCONT)
            wait_s = EVERY_S - FROZEN_S

    thread = threading.Thread(target=freeze)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def main() -> None:
    """Measure, print, and write the record."""
    rows: list[dict[str, Any]] = []
    with running([MODEL]) as server, Generator() as own, PerfAnalyzer() as other:
        ways = Ways(server.grpc, own, other).all()
        for number in range(ROUNDS):
            for name, latencies_s in ways.items():
                with freezing(server.process.pid):
                    quantiles_ms = 1e3 * np.percentile(latencies_s(), LEVELS)
                found = {f"p{n}_ms": round(q, 1) for n, q in zip(LEVELS, quantiles_ms, strict=True)}
                rows.append({"round": number, "way": name, **found})
                print(rows[-1], flush=True)
    settings = {"rate_per_s": RATE_PER_S, "duration_s": DURATION_S, "callers": CALLERS}
    settings |= {"frozen_s": FROZEN_S, "every_s": EVERY_S}
    engine = f"perf_analyzer {version_of(program())}"
    path = write_record("frozen", {"settings": settings, "engine": engine, "rows": rows})
    print(f"record: {path}")


if __name__ == "__main__":
    main()

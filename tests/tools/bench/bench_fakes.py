"""A Triton of numbers, a generator of numbers and a clock that stands still unless told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np

from tests.fakes.odd_server import OddServer, body, odd_server
from tools.bench.engine import Tick
from tools.clock import Clock
from tools.load.generated import Generated
from tools.load.loads import OpenLoop, Run
from tools.record.samples import OUTCOMES, Samples

STEPS = ("preprocess", "classifier")
NAMES = (*STEPS, "ensemble")


class FakeTriton:
    """An ensemble of two models; each request passes all three.

    Attributes:
        odd: the HTTP server.
        requests: that each model has answered.
        pending: requests that wait, as the metrics say.
    """

    def __init__(self, odd: OddServer) -> None:
        self.odd = odd
        self.requests = dict.fromkeys(NAMES, 100)
        self.pending = 0
        self.max_batch_size = 8
        steps = [{"model_name": name} for name in STEPS]
        odd.pages["/v2"] = body({"name": "triton", "version": "2.51.0"})
        odd.pages["/v2/models/stats"] = self._page(self._statistics)
        odd.pages["/metrics"] = self._page(self._metrics)
        for name in NAMES:
            odd.pages[f"/v2/models/{name}"] = body({"name": name})
            config = {"name": name, "max_batch_size": self.max_batch_size}
            if name == "ensemble":
                config["ensemble_scheduling"] = {"step": steps}
            odd.pages[f"/v2/models/{name}/config"] = body(config)

    def serve(self, count: int) -> None:
        """So many requests pass."""
        for name in NAMES:
            self.requests[name] += count

    def reload(self, name: str) -> None:
        """Its counters begin anew."""
        self.requests[name] = 0

    def _page(self, text: Callable[[], Any]) -> Callable[[BaseHTTPRequestHandler], None]:
        return lambda handler: body(text())(handler)

    def _statistics(self) -> dict[str, Any]:
        return {"model_stats": [_row(name, count) for name, count in self.requests.items()]}

    def _metrics(self) -> str:
        return f'nv_inference_pending_request_count{{model="classifier"}} {self.pending}\n'


def _row(name: str, count: int) -> dict[str, Any]:
    each = {"count": count, "ns": count * 1_000_000}
    parts = ("success", "queue", "compute_input", "compute_infer", "compute_output")
    batch = dict.fromkeys(parts[2:], each)
    return {
        "name": name,
        "version": "1",
        "inference_count": count,
        "execution_count": count,
        "inference_stats": {**dict.fromkeys(parts, each), "fail": {"count": 0, "ns": 0}},
        "batch_stats": [{"batch_size": 1, **batch}],
    }


@contextmanager
def fake_triton() -> Iterator[FakeTriton]:
    """One that runs while the block does."""
    with odd_server() as odd:
        yield FakeTriton(odd)


def samples(count: int, outcome: str = "ok", late_s: float = 0.0) -> Samples:
    """So many requests of 10 ms with the same fate."""
    each = np.full(count, 0.01)
    return Samples(
        np.linspace(0.0, 1.0, count, endpoint=False),
        np.full(count, late_s),
        each,
        np.full(count, OUTCOMES.index(outcome), np.int64),
        np.zeros(count, np.int64),
    )


class FakeEngine:
    """Answers every run at once.

    Attributes:
        runs: that were asked for.
        result: what comes back; tests replace it.
        before: called with each run, before it is answered.
    """

    def __init__(self, before: Callable[[Run], None] = lambda _: None) -> None:
        self.runs: list[Run] = []
        self.result = Generated(samples(40), cpu_s=0.5, wall_s=1.0)
        self.before = before

    def run(self, run: Run, tick: Tick | None = None) -> Generated:
        self.runs.append(run)
        self.before(run)
        if tick is not None:
            tick(0.5)
        if isinstance(run.loop, OpenLoop) and len(run.loop.due_s) == 1:
            return Generated(samples(1), 0.0, 1.0)
        return self.result


def still_clock() -> Clock:
    """Moves by what is slept, and by a millisecond at each look."""
    now_s = [0.0]

    def look() -> float:
        now_s[0] += 1e-3
        return now_s[0]

    def sleep(seconds: float) -> None:
        now_s[0] += seconds

    return Clock(look, sleep)

"""The pages of a Triton that runs requests between one look and the next: an ensemble of two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.fakes.odd_server import OddServer, body, odd_server

STEPS = ("first", "second")


class BusyTriton:
    """Each request waits 10 ms in each of two stages, and executes for 10 ms in a batch of two.

    Attributes:
        odd: the server; pages may be changed.
        requests: of every model so far; set it to 0 and it was loaded again.
        per_look: requests that are added whenever the statistics are asked for.
        failures: of the ensemble so far.
        batching: of the stages.
    """

    def __init__(self, odd: OddServer) -> None:
        self.odd = odd
        self.requests = {"chain": 100, **dict.fromkeys(STEPS, 100)}
        self.per_look = 30
        self.failures = 0
        self.batching: dict[str, Any] = {}
        odd.pages |= {
            "/v2": body({"name": "triton", "version": "2.51.0"}),
            "/v2/models/stats": self._statistics,
            "/metrics": self._metrics,
        }
        for name in self.requests:
            odd.pages[f"/v2/models/{name}/versions/1/config"] = self._config

    @property
    def address(self) -> str:
        return self.odd.address

    def _statistics(self, handler: BaseHTTPRequestHandler) -> None:
        for name in self.requests:
            self.requests[name] += self.per_look
        body({"model_stats": [self._row(name) for name in self.requests]})(handler)

    def _row(self, name: str) -> dict[str, Any]:
        n, is_chain = self.requests[name], name not in STEPS
        each_ms = {
            "queue": 0 if is_chain else 10,
            "compute_input": 0,
            "compute_infer": 20 if is_chain else 10,
            "compute_output": 0,
        }
        parts = {part: duration(n, ms * n) for part, ms in each_ms.items()}
        one = {part: duration(n // 2, parts[part]["ns"] / 2e6) for part in list(parts)[1:]}
        return {
            "name": name,
            "version": "1",
            "inference_count": n,
            "execution_count": n if is_chain else n // 2,
            "inference_stats": {
                "success": duration(n, (40 if is_chain else 20) * n),
                "fail": duration(self.failures if is_chain else 0, 0),
                **parts,
            },
            "batch_stats": [{"batch_size": 1 if is_chain else 2, **one}],
        }

    def _config(self, handler: BaseHTTPRequestHandler) -> None:
        fields: dict[str, Any] = {"max_batch_size": 8, "dynamic_batching": self.batching}
        if "/chain/" in handler.path:
            steps = [{"model_name": name} for name in STEPS]
            fields = {"max_batch_size": 8, "ensemble_scheduling": {"step": steps}}
        else:
            fields["instance_group"] = [{"kind": "KIND_CPU", "count": 1}]
        body(fields)(handler)

    def _metrics(self, handler: BaseHTTPRequestHandler) -> None:
        body("\n".join(self.metrics()))(handler)

    def metrics(self) -> Iterator[str]:
        for name, n in self.requests.items():
            labels = f'model="{name}",version="1"'
            yield f"nv_inference_request_success{{{labels}}} {n}"
            yield f"nv_inference_pending_request_count{{{labels}}} {2 if name in STEPS else 0}"
            for reason in ("REJECTED", "OTHER"):
                yield f'nv_inference_request_failure{{{labels},reason="{reason}"}} 0'


def duration(count: int, ms: float) -> dict[str, int]:
    return {"count": count, "ns": round(ms * 1e6)}


@contextmanager
def busy_triton() -> Iterator[BusyTriton]:
    """One that runs while the block does."""
    with odd_server() as odd:
        yield BusyTriton(odd)

"""Does an urgent request leave with the next batch of each stage? Read from the server's trace."""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.batching.experiments import OVERLOAD
from benchmarks.batching.load import Call, open_loop
from benchmarks.batching.measure import Json, histogram_ms, percentiles
from benchmarks.batching.plan import Plan, note
from benchmarks.batching.server import Triton, running
from benchmarks.batching.sleepers import Variant
from benchmarks.batching.variants import BURST, MIXED
from ensemble.profiles import NORMAL, STAGES, URGENT
from tools.load.arrivals import Poisson
from tools.record.samples import Floats

WAITING = 64
URGENT_DUE_S = 0.03
TRACE = ("level=TIMESTAMPS", "rate=1", "count=-1")


@dataclass(frozen=True)
class Passage:
    """One request at one stage, steady-clock seconds."""

    model: str
    request: str
    queued_s: float
    started_s: float


def bursts(plan: Plan) -> Json:
    """64 normal requests, then one urgent, again and again; on a server that traces."""
    with tempfile.TemporaryDirectory(prefix="tandem-trace-") as folder:
        file = Path(folder) / "trace.json"
        settings = [f"triton,file={file}", *TRACE]
        flags = [f"--trace-config={setting}" for setting in settings]
        # Four at a time: each waits most of the time.
        with running(BURST, *flags) as triton, ThreadPoolExecutor(4) as pool:
            note("bursts with one urgent request")
            found = [pool.submit(_bursts, triton, variant, plan.bursts) for variant in BURST]
            latencies_ms = [one.result() for one in found]
        passages = read_trace(json.loads(file.read_text(encoding="utf-8")))
    return {
        variant.name: {
            "normal": _described(normal),
            "urgent": _described(urgent),
            "batches_before_urgent": {
                stage: _batches_before_urgent(passages[variant.model(stage)]) for stage in STAGES
            },
        }
        for variant, (normal, urgent) in zip(BURST, latencies_ms, strict=True)
    }


def mix(triton: Triton, plan: Plan) -> Json:
    """Steady overload in which every twentieth request is urgent."""
    note("a mix of priorities in overload")
    rate_per_s = OVERLOAD * MIXED[0].capacity_per_s
    result: dict[str, Json] = {}
    for variant in MIXED:
        random = np.random.default_rng([plan.seed, 3])
        calls = [_urgent(variant)] + [_normal(variant)] * 19
        due_s = Poisson().times_s(rate_per_s, plan.overload_s, random)
        urgent, normal = open_loop(triton.grpc, calls, due_s)
        result[variant.name] = {
            "normal": _described(normal.latencies_ms(plan.overload_s / 5)),
            "urgent": _described(urgent.latencies_ms(plan.overload_s / 5)),
        }
        note(f"  {variant.name}: urgent p95 {result[variant.name]['urgent']['p95_ms']} ms")
    return result


def _normal(variant: Variant, name: str = "") -> Call:
    return Call(variant.entry, NORMAL, name)


def _urgent(variant: Variant, name: str = "") -> Call:
    return Call(variant.entry, URGENT, name)


def _bursts(triton: Triton, variant: Variant, times: int) -> tuple[list[float], list[float]]:
    """Latencies of all normal and of all urgent requests, ms."""
    normal_ms: list[float] = []
    urgent_ms: list[float] = []
    due_s = np.array([0.0] * WAITING + [URGENT_DUE_S])
    for number in range(times):
        normal, urgent = _normal(variant, f"{number}-normal"), _urgent(variant, f"{number}-urgent")
        outcomes = open_loop(triton.grpc, [normal] * WAITING + [urgent], due_s)
        normal_ms.extend(outcomes[0].latencies_ms())
        urgent_ms.extend(outcomes[1].latencies_ms())
        time.sleep(0.05)
    return normal_ms, urgent_ms


def read_trace(rows: list[Json]) -> dict[str, list[Passage]]:
    """Every passage of a trace, by model. Source: Triton's trace extension."""
    heads: dict[int, Json] = {}
    times: dict[int, dict[str, int]] = defaultdict(dict)
    for row in rows:
        if "model_name" in row:
            heads[row["id"]] = row
        for stamp in row.get("timestamps", []):
            times[row["id"]][stamp["name"]] = stamp["ns"]
    found: dict[str, list[Passage]] = defaultdict(list)
    for number, head in heads.items():
        stamps = times[number]
        if "COMPUTE_START" in stamps:
            queued_s, started_s = (stamps[n] / 1e9 for n in ("QUEUE_START", "COMPUTE_START"))
            passage = Passage(head["model_name"], head.get("request_id", ""), queued_s, started_s)
            found[passage.model].append(passage)
    return found


def _batches_before_urgent(passages: list[Passage]) -> list[int]:
    """How many batches of a stage began between an urgent request's arrival and its own batch.

    None is the best there is: it left with the first batch that was formed after it came.
    """
    starts_s = sorted({passage.started_s for passage in passages})
    counts = []
    for passage in passages:
        if passage.request.endswith("urgent"):
            before = [s for s in starts_s if passage.queued_s < s < passage.started_s]
            counts.append(len(before))
    return counts


def _described(latencies_ms: list[float] | Floats) -> Json:
    values = np.asarray(latencies_ms)
    return {
        "requests": len(values),
        **percentiles(values),
        "over_500_ms": int((values > 500).sum()),
        "histogram_ms": histogram_ms(values),
    }

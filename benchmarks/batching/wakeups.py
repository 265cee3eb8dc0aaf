"""Two faults of Triton's batcher that take 500 ms whatever the model: searched for here."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.batching.load import Call, open_loop
from benchmarks.batching.measure import STALL_MS, Json
from benchmarks.batching.plan import Plan, note
from benchmarks.batching.server import Triton
from benchmarks.batching.sleepers import Variant
from benchmarks.batching.variants import PAIRS, SLOW, SLOW_MS, TIMEOUT_MS

SECOND_DUE_S = 0.01
"""The first is then in the classifier, and the second waits behind it."""


def lost_and_late(triton: Triton, plan: Plan) -> Json:
    """Pairs on an otherwise idle server, and a timeout behind a long execution."""
    note("lost wake-ups and late timeouts")
    with ThreadPoolExecutor(len(PAIRS) + 1) as pool:
        late = pool.submit(_refusals_ms, triton, plan.timeouts)
        lost = [pool.submit(_stalls, triton, variant, plan.pairs) for variant in PAIRS]
        return {
            "pairs": {v.name: found.result() for v, found in zip(PAIRS, lost, strict=True)},
            "timeout_ms": TIMEOUT_MS,
            "execution_ms": SLOW_MS,
            "refused_after_ms": late.result(),
        }


def _stalls(triton: Triton, variant: Variant, pairs: int) -> Json:
    stalls = 0
    for _ in range(pairs):
        (outcome,) = open_loop(triton.grpc, [Call(variant.entry)], np.array([0.0, SECOND_DUE_S]))
        stalls += int((outcome.latencies_ms() > STALL_MS).any())
    return {"pairs": pairs, "stalled": stalls}


def _refusals_ms(triton: Triton, times: int) -> list[float]:
    """How long a request waited that should have been refused after ``TIMEOUT_MS``."""
    found = []
    for _ in range(times):
        (outcome,) = open_loop(triton.grpc, [Call(SLOW.entry)], np.array([0.0, SECOND_DUE_S]))
        for due_s, done_s, served in zip(
            outcome.due_s, outcome.done_s, outcome.served, strict=True
        ):
            if not served:
                found.append(round((done_s - due_s) * 1e3, 1))
        time.sleep(0.1)
    return found

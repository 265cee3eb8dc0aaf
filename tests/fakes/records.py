"""Records without a server: what a batching server would answer, with a seeded spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tools.record.record import Cell, Kind, Load, Record, Resources, StageCounts, Target, WarmUp
from tools.record.samples import OUTCOMES, Samples

Floats = npt.NDArray[np.float64]

CLOSED = tuple(Load("closed", callers) for callers in (1, 4, 16, 64))
OPEN = tuple(Load("open", rate, "poisson") for rate in (20, 50, 100, 150))
STEPS = ("preprocess", "classifier", "postprocess")


@dataclass(frozen=True)
class Server:
    """A server of which an execution of n images takes ``base_ms + n * image_ms``.

    Attributes:
        name: of the target.
        base_ms: of an execution, whatever its size.
        image_ms: of each image.
        max_batch: 1 is no batching.
        spread: coefficient of variation of a time.
        refused: share of the requests that a full queue refuses.
    """

    name: str
    base_ms: float = 8.0
    image_ms: float = 2.0
    max_batch: int = 8
    spread: float = 0.2
    refused: float = 0.0

    def execution_s(self, batch: int) -> float:
        return (self.base_ms + batch * self.image_ms) / 1e3

    def batch(self, load: Load) -> int:
        """The size that forms: half of the callers, or the least that keeps up."""
        if load.kind == "closed":
            return max(1, min(self.max_batch, int(load.value) // 2))
        keeps_up = (
            size
            for size in range(1, self.max_batch)
            if load.value * self.execution_s(size) / size <= 0.8
        )
        return next(keeps_up, self.max_batch)


BASELINE = Server("baseline", max_batch=1)
INTERACTIVE = Server("interactive")


@dataclass(frozen=True)
class Noise:
    """What makes rounds differ.

    Attributes:
        cell: standard deviation of the logarithm of one cell's times.
        round: the same of a whole round, which falls on all targets alike.
        spikes: share of the cells that something else on the machine slows.
    """

    cell: float = 0.02
    round: float = 0.02
    spikes: float = 0.0


def record(
    targets: Sequence[Server] = (BASELINE, INTERACTIVE),
    loads: Sequence[Load] = CLOSED,
    rounds: int = 7,
    random: np.random.Generator | None = None,
    **fields: object,
) -> Record:
    """A run of ``bench`` of 5-second cells; ``fields`` replace those of the record.

    ``noise``, ``duration_s``, ``protocols`` and ``mix`` among them shape the cells too.
    """
    random = np.random.default_rng(0) if random is None else random
    noise = fields.pop("noise", Noise())
    duration_s = fields.pop("duration_s", 5.0)
    protocols = fields.pop("protocols", ("grpc",))
    mix = fields.get("mix", (Kind(images="samples", median_bytes=60_000),))
    assert isinstance(noise, Noise)
    assert isinstance(duration_s, float)
    assert isinstance(protocols, tuple)
    assert isinstance(mix, tuple)
    cells = []
    for number in range(rounds):
        common = noise.round * random.standard_normal()
        for load in loads:
            # The same for all targets, as in bench: a burst of one's own is no difference.
            due_s = np.sort(random.random(random.poisson(load.value * duration_s))) * duration_s
            for protocol in protocols:
                for server in targets:
                    slow = common + noise.cell * random.standard_normal()
                    slow += 0.7 * (random.random() < noise.spikes)
                    what = replace(
                        server,
                        base_ms=server.base_ms * math.exp(slow),
                        image_ms=server.image_ms * math.exp(slow),
                    )
                    cells.append(cell(what, load, number, due_s, random, duration_s, protocol, mix))
    made = Record(
        kind="bench",
        created="2026-11-30T20:00:00Z",
        origin={"machine": {"cores": 2, "cpu": "a CPU"}, "versions": {"numpy": "1.26.4"}},
        command=("tandem", "bench", "--profiles", ",".join(server.name for server in targets)),
        engine="tandem",
        seed=0,
        slo_p95_ms=50.0,
        mix=mix,
        targets=tuple(map(_target, targets)),
        cells=tuple(cells),
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def _target(server: Server) -> Target:
    config = {"name": "classifier", "max_batch_size": server.max_batch}
    warm_up = tuple(
        WarmUp(size, 4e3 * server.execution_s(size), 1e3 * server.execution_s(size))
        for size in (1, server.max_batch)
    )
    configurations = {"classifier": config}
    steps = STEPS
    return Target(
        server.name, "triton 2.51.0", "ensemble", server.name, configurations, steps, warm_up
    )


def cell(
    server: Server,
    load: Load,
    number: int,
    due_s: Floats,
    random: np.random.Generator,
    duration_s: float = 5.0,
    protocol: str = "grpc",
    mix: Sequence[Kind] = (Kind(),),
) -> Cell:
    """One load on one server, once; ``due_s`` are the arrivals of an open one."""
    if load.kind == "closed":
        due_s, latency_s = _closed(server, load, random, duration_s)
    else:
        latency_s = _open(server, load, random, due_s)
    refused = random.random(len(due_s)) < server.refused
    kinds = random.choice(len(mix), len(due_s), p=[kind.share for kind in mix])
    late_s = np.zeros(len(due_s))
    if load.kind == "open":
        late_s = random.exponential(1e-4, len(due_s))
    samples = Samples(
        due_s,
        late_s,
        np.where(refused, 1e-3, latency_s),
        np.where(refused, OUTCOMES.index("too_busy"), 0).astype(np.int64),
        kinds.astype(np.int64),
    )
    batch = server.batch(load)
    used = Resources(
        server_cpu_s=0.9 * len(due_s) * server.execution_s(batch) / batch,
        generator_cpu_s=2e-4 * len(due_s),
        resident_bytes=800 << 20,
    )
    stages = tuple(_stage(name, server, samples, batch, random) for name in (*STEPS, "ensemble"))
    return Cell(number, server.name, load, protocol, duration_s, samples, stages, used)


def _times_s(
    mean_s: float, server: Server, random: np.random.Generator, shape: int | tuple[int, int]
) -> Floats:
    """Gamma, of the server's spread."""
    cv2 = server.spread**2
    return random.gamma(1 / cv2, mean_s * cv2, shape)


def _closed(
    server: Server, load: Load, random: np.random.Generator, duration_s: float
) -> tuple[Floats, Floats]:
    """Each caller sends again at once; together they get what the batch size gives."""
    callers, batch = int(load.value), server.batch(load)
    mean_s = max(callers / batch, 1.0) * server.execution_s(batch)
    each = int(1.5 * duration_s / mean_s) + 20
    latency_s = _times_s(mean_s, server, random, (callers, each))
    due_s = np.cumsum(latency_s, axis=1) - latency_s
    within = due_s < duration_s
    order = np.argsort(due_s[within])
    return due_s[within][order], latency_s[within][order]


def _open(server: Server, load: Load, random: np.random.Generator, due_s: Floats) -> Floats:
    """One queue. Source: Lindley's recursion, as a running minimum."""
    batch = server.batch(load)
    work_s = _times_s(server.execution_s(batch) / batch, server, random, len(due_s))
    behind_s = np.cumsum(work_s) - work_s - due_s
    wait_s = behind_s - np.minimum.accumulate(behind_s)
    answered_s: Floats = wait_s + _times_s(server.execution_s(batch), server, random, len(due_s))
    return answered_s


def _stage(
    name: str, server: Server, samples: Samples, batch: int, random: np.random.Generator
) -> StageCounts:
    """The classifier takes most of the time; what no execution takes is waited for."""
    share = {"preprocess": 0.3, "classifier": 0.6, "postprocess": 0.1, "ensemble": 1.0}[name]
    served = int(samples.served.sum())
    whole_s = share * float(samples.latency_s[samples.served].sum())
    compute_s = min(whole_s, share * served * server.execution_s(batch))
    sizes = {} if name == "ensemble" else _sizes(served, batch, server.max_batch, random)
    return StageCounts(
        model=name,
        requests=served,
        failures=0,
        inferences=served,
        executions=sum(sizes.values()),
        request_s=whole_s,
        queue_s=whole_s - compute_s,
        compute_input_s=0.05 * compute_s,
        compute_infer_s=0.9 * compute_s,
        compute_output_s=0.05 * compute_s,
        sizes={n: (count, count * share * server.execution_s(n)) for n, count in sizes.items()},
    )


def _sizes(served: int, batch: int, most: int, random: np.random.Generator) -> dict[int, int]:
    """Batch size to executions, ``served`` images in all, ``batch`` in the middle one."""
    drawn = np.minimum(1 + random.binomial(2 * batch - 2, 0.5, served), most)
    ends = np.minimum(np.cumsum(drawn), served)
    sizes, counts = np.unique(np.diff(ends, prepend=0), return_counts=True)
    return {int(n): int(count) for n, count in zip(sizes, counts, strict=True) if n}

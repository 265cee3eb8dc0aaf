"""What a record comes to: one summary for each target, load and protocol."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tools.record.cells import (
    LONGEST_S,
    Key,
    cells_by_key,
    quantile,
    steady,
    throughput_per_s,
    why_unused,
)
from tools.record.intervals import Estimate, average, estimate
from tools.record.record import Cell, Load, Record, StageCounts
from tools.record.samples import OUTCOMES, Floats


@dataclass(frozen=True)
class Unused:
    """A cell that does not count.

    Attributes:
        round: from 0.
        reason: why.
    """

    round: int
    reason: str


@dataclass(frozen=True)
class Answers:
    """What became of requests. Times are of those answered; failures are in ``errors``.

    Attributes:
        requests: that were due.
        served: of them, answered.
        errors: failures by cause.
        throughput_per_s: answers a second; see ``credit``. None without any request.
        goodput_per_s: of them, within the SLO; None where none was named.
        mean_ms: None where a round has no answer.
        p50_ms: None where a round has too few answers; see ``quantile``.
        p95_ms: the same, from 19 answers a round.
        p99_ms: the same, from 99 answers a round.
    """

    requests: int
    served: int
    errors: Mapping[str, int]
    throughput_per_s: Estimate | None
    goodput_per_s: Estimate | None
    mean_ms: Estimate | None
    p50_ms: Estimate | None
    p95_ms: Estimate | None
    p99_ms: Estimate | None


@dataclass(frozen=True)
class KindSummary(Answers):
    """Of one class of the mix.

    Attributes:
        name: of the class.
    """

    name: str


@dataclass(frozen=True)
class StageSummary:
    """What the server counted for one model, all rounds together; None: nothing was counted.

    Attributes:
        model: its name.
        requests: that succeeded.
        failures: that did not.
        inferences: rows.
        executions: of a batch each.
        mean_batch: rows for each execution.
        request_ms: from arrival to answer, per request, as the following.
        queue_ms: of it, waiting.
        compute_input_ms: of it, gathering inputs.
        compute_infer_ms: of it, in the model.
        compute_output_ms: of it, handing out outputs.
        sizes: executions by batch size; None where the server does not say.
    """

    model: str
    requests: int
    failures: int
    inferences: int
    executions: int
    mean_batch: float | None
    request_ms: float | None
    queue_ms: float | None
    compute_input_ms: float | None
    compute_infer_ms: float | None
    compute_output_ms: float | None
    sizes: Mapping[int, int] | None


@dataclass(frozen=True)
class Summary(Answers):
    """One load on one target over one protocol, all rounds that count.

    Attributes:
        target: its name.
        load: what was asked for.
        protocol: ``grpc`` or ``http``.
        rounds: that count.
        unused: cells that do not, with the reason.
        kinds: by class of the mix; empty where there is one class only.
        late_p99_ms: how late requests were sent, all rounds together; None in a closed loop.
        stages: server side, in the order of the record.
        server_cpu_ms_per_request: for each answer.
        generator_cpu_ms_per_request: for each request.
        gpu_utilisation: 0 to 1.
        gpu_memory_bytes: the most of any round.
        resident_bytes: the most of any round.
    """

    target: str
    load: Load
    protocol: str
    rounds: int
    unused: tuple[Unused, ...]
    kinds: tuple[KindSummary, ...]
    late_p99_ms: float | None
    stages: tuple[StageSummary, ...]
    server_cpu_ms_per_request: Estimate | None
    generator_cpu_ms_per_request: Estimate | None
    gpu_utilisation: Estimate | None
    gpu_memory_bytes: int | None
    resident_bytes: int | None


def summarise(record: Record) -> tuple[Summary, ...]:
    """One summary for each target, load and protocol, targets first, loads ascending."""
    return tuple(_summary(record, key, cells) for key, cells in cells_by_key(record).items())


def _summary(record: Record, key: Key, cells: Sequence[Cell]) -> Summary:
    target, load, protocol = key
    reasons = [why_unused(cell) for cell in cells]
    used = [cell for cell, reason in zip(cells, reasons, strict=True) if reason is None]
    return Summary(
        **vars(_answers(used, record.slo_p95_ms)),
        target=target,
        load=load,
        protocol=protocol,
        rounds=len({cell.round for cell in used}),
        unused=tuple(
            Unused(cell.round, reason)
            for cell, reason in zip(cells, reasons, strict=True)
            if reason is not None
        ),
        kinds=tuple(_kinds(record, used)),
        late_p99_ms=_late_p99_ms(used),
        stages=tuple(_stages(used)),
        server_cpu_ms_per_request=_cpu_ms(used, "server_cpu_s", served_only=True),
        generator_cpu_ms_per_request=_cpu_ms(used, "generator_cpu_s", served_only=False),
        gpu_utilisation=average(_known(used, "gpu_utilisation")),
        gpu_memory_bytes=max(_known(used, "gpu_memory_bytes"), default=None),
        resident_bytes=max(_known(used, "resident_bytes"), default=None),
    )


def _answers(cells: Sequence[Cell], slo_ms: float | None, kind: int | None = None) -> Answers:
    rounds = [_Round.of(cell, slo_ms, kind) for cell in cells]
    errors = sum((one.failed for one in rounds), np.zeros(len(OUTCOMES), np.int64)).tolist()
    asked = [one for one in rounds if one.requests]
    return Answers(
        requests=sum(one.requests for one in rounds),
        served=sum(one.served for one in rounds),
        errors={OUTCOMES[n]: count for n, count in enumerate(errors) if count},
        throughput_per_s=average([one.throughput_per_s for one in asked]),
        goodput_per_s=None if slo_ms is None else average([one.goodput_per_s for one in asked]),
        mean_ms=_over([one.mean_ms for one in rounds]),
        p50_ms=_over([quantile(one.latency_ms, 0.50) for one in rounds]),
        p95_ms=_over([quantile(one.latency_ms, 0.95) for one in rounds]),
        p99_ms=_over([quantile(one.latency_ms, 0.99) for one in rounds]),
    )


def _over(values: Sequence[float | None]) -> Estimate | None:
    """None where a round has none: leaving out the rounds that went badly would flatter."""
    known = [value for value in values if value is not None]
    return estimate(known) if len(known) == len(values) else None


@dataclass(frozen=True)
class _Round:
    """One cell, or one class of its requests; latencies ascending, of the steady ones answered."""

    requests: int
    served: int
    latency_ms: Floats
    failed: npt.NDArray[np.int64]
    throughput_per_s: float
    goodput_per_s: float

    @property
    def mean_ms(self) -> float | None:
        return float(self.latency_ms.mean()) if len(self.latency_ms) else None

    @classmethod
    def of(cls, cell: Cell, slo_ms: float | None, kind: int | None) -> _Round:
        samples = cell.samples
        asked = np.ones(len(samples), bool) if kind is None else samples.kind == kind
        served = asked & samples.served
        latency_ms = 1e3 * samples.latency_s
        in_time = served & (latency_ms <= (math.inf if slo_ms is None else slo_ms))
        return cls(
            requests=int(asked.sum()),
            served=int(served.sum()),
            latency_ms=np.sort(latency_ms[served & steady(cell)]),
            failed=np.bincount(samples.outcome[asked & ~served], minlength=len(OUTCOMES)),
            throughput_per_s=throughput_per_s(cell, served),
            goodput_per_s=throughput_per_s(cell, in_time),
        )


def _kinds(record: Record, cells: Sequence[Cell]) -> Iterator[KindSummary]:
    for number, kind in enumerate(record.mix if len(record.mix) > 1 else ()):
        yield KindSummary(**vars(_answers(cells, record.slo_p95_ms, number)), name=kind.name)


def _late_p99_ms(cells: Sequence[Cell]) -> float | None:
    late_s = [cell.samples.late_s for cell in cells if cell.load.kind == "open"]
    return None if not late_s else _ms(quantile(np.sort(np.concatenate(late_s)), 0.99))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def _stages(cells: Sequence[Cell]) -> Iterator[StageSummary]:
    by_model: dict[str, list[StageCounts]] = {}
    for cell in cells:
        for stage in cell.stages:
            by_model.setdefault(stage.model, []).append(stage)
    return (_stage(model, counts) for model, counts in by_model.items())


def _stage(model: str, counts: Sequence[StageCounts]) -> StageSummary:
    requests = sum(one.requests for one in counts)
    inferences = sum(one.inferences for one in counts)
    executions = sum(one.executions for one in counts)

    def each_ms(name: str) -> float | None:
        total_s = sum(getattr(one, name) for one in counts)
        return 1e3 * total_s / requests if requests and abs(total_s) <= LONGEST_S else None

    return StageSummary(
        model=model,
        requests=requests,
        failures=sum(one.failures for one in counts),
        inferences=inferences,
        executions=executions,
        mean_batch=inferences / executions if executions else None,
        request_ms=each_ms("request_s"),
        queue_ms=each_ms("queue_s"),
        compute_input_ms=each_ms("compute_input_s"),
        compute_infer_ms=each_ms("compute_infer_s"),
        compute_output_ms=each_ms("compute_output_s"),
        sizes=_sizes(counts),
    )


def _sizes(counts: Sequence[StageCounts]) -> dict[int, int] | None:
    known = [one.sizes for one in counts if one.sizes is not None]
    total: dict[int, int] = {}
    for sizes in known:
        for size, (executions, _) in sizes.items():
            total[size] = total.get(size, 0) + executions
    return dict(sorted(total.items())) if known else None


def _known(cells: Sequence[Cell], name: str) -> list[Any]:
    values = [getattr(cell.resources, name) for cell in cells]
    return [value for value in values if value is not None]


def _cpu_ms(cells: Sequence[Cell], name: str, served_only: bool) -> Estimate | None:
    """CPU time for each answer, or for each request."""
    each = []
    for cell in cells:
        cpu_s, served = getattr(cell.resources, name), cell.samples.served
        number = int(served.sum()) if served_only else len(served)
        if cpu_s is not None and number:
            each.append(1e3 * cpu_s / number)
    return estimate(each)

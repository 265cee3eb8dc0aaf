"""The record: what was asked of which server, and what it answered, cell by cell.

A *cell* is one load on one target for a few seconds. A *round* is every cell once, in turn, so that
a drift of the machine falls on all targets alike; rounds are repeated, and their spread is the
uncertainty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ensemble.errors import ContractMismatch
from tools.document import read_fields, whole
from tools.record.samples import Samples
from tools.record.shape import misfits

FORMAT = "tandem-record"
VERSION = 1
_FAULTS = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""Of what a file says, when a record is made of it."""


@dataclass(frozen=True)
class Load:
    """How requests come.

    Attributes:
        kind: ``closed``: so many callers, each sends again when it has its answer; ``open``: they
            come whatever became of the others.
        value: callers, or the mean arrival rate in requests/s.
        arrivals: of an open load: ``constant``, ``poisson``, ``bursty`` or the name of a file.
    """

    kind: str
    value: float
    arrivals: str | None = None

    @property
    def label(self) -> str:
        """For a reader."""
        if self.kind == "closed":
            return f"{self.value:g} caller{'' if self.value == 1 else 's'}"
        return f"{self.value:g}/s {self.arrivals}"


@dataclass(frozen=True)
class Kind:
    """One class of the mix.

    Attributes:
        name: of the class.
        share: of the requests, 0 to 1.
        priority: the request's ``priority``; 0 sends none.
        timeout_ms: the request's ``timeout`` in Triton's queues; 0 sends none.
        rows: images in one request.
        images: where they come from, its last part only, and how many.
        median_bytes: of one encoded image.
    """

    name: str = "all"
    share: float = 1.0
    priority: int = 0
    timeout_ms: float = 0.0
    rows: int = 1
    images: str = ""
    median_bytes: int = 0


@dataclass(frozen=True)
class WarmUp:
    """The first executions of one batch size, before anything was measured.

    Attributes:
        rows: images sent at once.
        first_ms: the first request of that size.
        last_ms: the last of them.
    """

    rows: int
    first_ms: float
    last_ms: float


@dataclass(frozen=True)
class Target:
    """What was measured.

    Attributes:
        name: unique in the record.
        server: such as ``triton 2.51.0``.
        model: that was called.
        profile: of the batching settings; None where the server was somebody else's.
        configurations: model to its configuration, as the server says it in JSON.
        steps: of the ensemble, its models in order; empty where the model is none.
        warm_up: by batch size.
    """

    name: str
    server: str
    model: str
    profile: str | None = None
    configurations: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    warm_up: tuple[WarmUp, ...] = ()


@dataclass(frozen=True)
class StageCounts:
    """What the server counted for one model during one cell; sums, not means.

    ``queue_s`` and the three compute times are per request: a batch of 8 adds its time 8 times.
    In ``sizes`` each execution counts once.

    Attributes:
        model: its name.
        requests: that succeeded.
        failures: that did not, of those that a counter counts.
        inferences: rows.
        executions: of a batch each.
        request_s: from arrival to answer.
        queue_s: of it, waiting.
        compute_input_s: of it, gathering inputs.
        compute_infer_s: of it, in the model.
        compute_output_s: of it, handing out outputs.
        sizes: batch size to executions and the seconds of all of them; None: server is silent.
    """

    model: str
    requests: int
    failures: int
    inferences: int
    executions: int
    request_s: float
    queue_s: float
    compute_input_s: float
    compute_infer_s: float
    compute_output_s: float
    sizes: Mapping[int, tuple[int, float]] | None = None


@dataclass(frozen=True)
class Resources:
    """What was used during one cell; None is not measured, never 0.

    Attributes:
        server_cpu_s: user and system time of the server and its stubs.
        generator_cpu_s: the same of the load generator.
        resident_bytes: memory of the server and its stubs, at the end.
        gpu_utilisation: 0 to 1, mean over GPUs and samples.
        gpu_memory_bytes: at the end, all GPUs.
    """

    server_cpu_s: float | None = None
    generator_cpu_s: float | None = None
    resident_bytes: int | None = None
    gpu_utilisation: float | None = None
    gpu_memory_bytes: int | None = None


@dataclass(frozen=True)
class Cell:
    """One load on one target, once.

    Attributes:
        round: from 0.
        target: its name.
        load: what was asked for.
        protocol: ``grpc`` or ``http``.
        duration_s: in which requests were due; throughput is answers over this.
        samples: of those requests.
        stages: server side, the model that was called last; empty where the server is silent.
        resources: what was used.
        unused: why the cell does not count, such as a schedule that was not kept; None: it counts.
    """

    round: int
    target: str
    load: Load
    protocol: str
    duration_s: float
    samples: Samples
    stages: tuple[StageCounts, ...] = ()
    resources: Resources = Resources()
    unused: str | None = None


@dataclass(frozen=True)
class Record:
    """One run of ``bench``, or of the simulator.

    Attributes:
        kind: ``bench`` or ``simulate``.
        created: ISO 8601, UTC.
        origin: see ``tools.record.origin``.
        command: how to repeat it, words.
        engine: ``tandem`` or ``perf_analyzer`` with its version.
        seed: of everything random.
        slo_p95_ms: the target; None: none was named.
        mix: the classes of the requests.
        targets: what was compared; the first is what the others are compared with.
        cells: in the order in which they were measured.
        interrupted: whether Ctrl-C ended it early.
    """

    kind: str
    created: str
    origin: Mapping[str, Any]
    command: tuple[str, ...]
    engine: str
    seed: int
    slo_p95_ms: float | None
    mix: tuple[Kind, ...]
    targets: tuple[Target, ...]
    cells: tuple[Cell, ...]
    interrupted: bool = False


def write(record: Record, path: Path) -> None:
    """As JSON, one cell a line; the file is there whole or not at all."""
    head = {"format": FORMAT, "version": VERSION, **asdict(_without_cells(record))}
    del head["cells"]
    lines = ",\n".join(json.dumps(_cell_json(cell), separators=(",", ":")) for cell in record.cells)
    text = json.dumps(head, indent=1)[:-2] + ',\n "cells": [\n' + lines + "\n]}\n"
    with whole(path) as file:
        file.write(text)


def _without_cells(record: Record) -> Record:
    return Record(**{**vars(record), "cells": ()})


def _cell_json(cell: Cell) -> dict[str, Any]:
    fields = {**vars(cell), "load": asdict(cell.load), "resources": asdict(cell.resources)}
    fields["samples"] = cell.samples.to_json()
    fields["stages"] = [asdict(stage) for stage in cell.stages]
    return fields


def read(path: Path) -> Record:
    """A record from its file.

    Raises:
        ContractMismatch: it is none, or of another version.
        OSError: it can't be read.
    """
    fields = read_fields(path, "a record", FORMAT, VERSION)
    try:
        record = _record(fields)
        misfit = next(misfits(record), None)
    except _FAULTS as error:
        raise ContractMismatch(f"{path}: expected a record, got {error!r:.120}") from error
    if misfit is not None:
        raise ContractMismatch(f"{path}: {misfit}")
    return record


def _record(fields: dict[str, Any]) -> Record:
    plain = {name: fields[name] for name in Record.__dataclass_fields__}
    return Record(
        **plain
        | {
            "command": tuple(fields["command"]),
            "mix": tuple(Kind(**one) for one in fields["mix"]),
            "targets": tuple(_target(one) for one in fields["targets"]),
            "cells": tuple(_cell(one) for one in fields["cells"]),
        }
    )


def _target(fields: dict[str, Any]) -> Target:
    warm_up = tuple(WarmUp(**one) for one in fields["warm_up"])
    return Target(**fields | {"steps": tuple(fields["steps"]), "warm_up": warm_up})


def _cell(fields: dict[str, Any]) -> Cell:
    return Cell(
        **fields
        | {
            "load": Load(**fields["load"]),
            "samples": Samples.from_json(fields["samples"]),
            "stages": tuple(_stage(one) for one in fields["stages"]),
            "resources": Resources(**fields["resources"]),
        }
    )


def _stage(fields: dict[str, Any]) -> StageCounts:
    sizes = fields["sizes"]
    if sizes is not None:
        sizes = {int(size): (int(n), float(s)) for size, (n, s) in sizes.items()}
    return StageCounts(**fields | {"sizes": sizes})

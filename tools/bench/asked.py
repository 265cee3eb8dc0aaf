"""What the command line of ``tandem bench`` asks for, once it is checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ensemble.errors import ContractMismatch
from tools.bench.loads import Loads
from tools.bench.plan import Plan, Side
from tools.bench.progress import in_minutes
from tools.bench.targets import Endpoint, Own
from tools.document import partial_of
from tools.load.loads import RequestClass
from tools.perf_analyzer.command import check_fits

START_S = 15.0
"""About what it takes to start and warm up one target."""
LONGEST_S = 3600.0
"""Of a cell, and of what a caller waits; gRPC takes much longer limits as none at all."""
LEAST_ROUNDS = 3
"""Fewer have no interval."""


@dataclass(frozen=True)
class Asked:
    """What the command line asks for, checked.

    Attributes:
        targets: the first is what the others are compared with.
        model: that is called.
        loads: what is put on each.
        mix: the classes.
        protocols: ``grpc``, ``http``.
        rounds: repetitions.
        duration_s: of one cell.
        budget_s: for everything; None: as long as it takes.
        timeout_s: that a caller waits.
        seed: of everything random.
        slo_p95_ms: None: none was named.
        engine: what sends the requests.
        out: the record's file.
        command: how to repeat it.
        as_json: the result for machines.
    """

    targets: Sequence[Own | Endpoint]
    model: str
    loads: Loads
    mix: tuple[RequestClass, ...]
    protocols: tuple[str, ...]
    rounds: int
    duration_s: float
    budget_s: float | None
    timeout_s: float
    seed: int
    slo_p95_ms: float | None
    engine: str
    out: Path
    command: tuple[str, ...]
    as_json: bool

    @property
    def plan(self) -> Plan:
        """All cells."""
        names = (target.name for target in self.targets)
        sides = tuple(Side(name, protocol) for name in names for protocol in self.protocols)
        return Plan(self.loads.loads, sides, self.rounds, self.duration_s, self.seed)

    @property
    def whole_s(self) -> float:
        """About how long everything takes, if the budget allows."""
        return START_S * len(self.targets) + self.rounds * self.plan.round_s

    def check(self) -> None:
        """Say now what would fail after minutes.

        Raises:
            ContractMismatch: the record can't be written, a time is too long, the budget is too
                small, or the engine can't send such requests.
        """
        if self.engine == "perf_analyzer":
            check_fits(self.mix, self.protocols)
        if self.out.is_dir():
            raise ContractMismatch(f"--out {self.out}: expected a file, got a folder")
        try:
            with partial_of(self.out).open("w"):
                pass
            partial_of(self.out).unlink()
        except OSError as error:
            raise ContractMismatch(
                f"--out {self.out}: expected a file that can be written, got {error.strerror}"
            ) from error
        for option, asked_s in (("duration", self.duration_s), ("timeout", self.timeout_s)):
            if asked_s > LONGEST_S:
                raise ContractMismatch(f"--{option}-s {asked_s:g}: expected at most {LONGEST_S:g}")
        rounds = min(LEAST_ROUNDS, self.rounds)
        needed_s = self.whole_s - (self.rounds - rounds) * self.plan.round_s
        if self.budget_s is not None and needed_s > self.budget_s:
            raise ContractMismatch(
                f"--budget-min {self.budget_s / 60:g}: expected {needed_s / 60:.1f} or more for "
                f"{rounds} rounds; take fewer loads, or a shorter --duration-s"
            )

    def announced(self) -> Iterator[str]:
        """What will happen, in lines."""
        names = ", ".join(one.name for one in self.targets)
        yield f"targets: {names}; over {' and '.join(self.protocols)}"
        yield "loads: " + ", ".join(one.label for one in self.loads.loads)
        yield from self.loads.remarks(self.duration_s)
        whole_s = min(self.whole_s, self.budget_s or self.whole_s)
        cells = self.plan.cells_a_round
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        yield (
            f"{rounds} of {cells} cell{'' if cells == 1 else 's'} of {self.duration_s:g} s: "
            f"about {in_minutes(whole_s)} min"
        )

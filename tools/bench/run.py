"""``tandem bench``, from what was asked to the record and what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TextIO

from tools.arguments import INTERRUPTED
from tools.bench.asked import Asked
from tools.bench.cell import Bench
from tools.bench.classes import kind_of
from tools.bench.engine import ENGINES, OWN, Engine, label_of
from tools.bench.keeper import Keeper
from tools.bench.progress import Progress
from tools.bench.report import as_json, as_text
from tools.bench.rounds import Rounds
from tools.bench.targets import Endpoint, Subject, subject_of, up
from tools.bench.warm import WarmUps
from tools.clock import Clock
from tools.record.origin import origin
from tools.record.record import Record, WarmUp


def bench(asked: Asked, out: TextIO, err: TextIO) -> int:
    """Measure, write, print; see ``tools.bench.options.run``."""
    clock = Clock()
    end_s = None if asked.budget_s is None else clock.now_s() + asked.budget_s
    asked.check()
    for line in asked.announced():
        err.write(line + "\n")
    keeper = Keeper(asked.out, _empty_record(asked))
    try:
        with ExitStack() as stack:
            endpoints = stack.enter_context(up(asked.targets))
            own = stack.enter_context(ENGINES[OWN]())
            is_own = asked.engine == OWN
            engine = own if is_own else stack.enter_context(ENGINES[asked.engine]())
            Measuring(asked, own, engine, keeper, clock, err).run(endpoints, end_s)
    finally:
        if keeper.record.cells:
            text = as_json if asked.as_json else as_text
            out.write(text(keeper.record, keeper.path) + "\n")
    if keeper.record.interrupted:
        return INTERRUPTED
    useful = (cell.unused is None and cell.samples.served.any() for cell in keeper.record.cells)
    return 0 if any(useful) else 1


@dataclass(frozen=True)
class Measuring:
    """The run, once servers and generator are there.

    Attributes:
        asked: what is measured.
        own: makes the requests before the first round.
        engine: makes those that are measured.
        keeper: takes what was measured.
        clock: time.
        err: for what the user should know.
    """

    asked: Asked
    own: Engine
    engine: Engine
    keeper: Keeper
    clock: Clock
    err: TextIO

    def run(self, endpoints: Sequence[Endpoint], end_s: float | None) -> None:
        """Check and warm up every target, then the rounds.

        Args:
            endpoints: in the order of the record.
            end_s: on the clock; see ``Rounds``.

        Raises:
            ServingError: a target does not answer as it should.
            KeyboardInterrupt: before the first round.
        """
        subjects = {one.name: subject_of(one, self.asked.model) for one in endpoints}
        self._warm_up(list(subjects.values()))
        asked, plan = self.asked, self.asked.plan
        bench = Bench(
            subjects,
            asked.loads,
            asked.mix,
            asked.duration_s,
            asked.timeout_s,
            self.engine,
            self.clock,
        )
        with closing(Progress(plan, self.err, self.clock)) as progress:
            rounds = Rounds(plan, bench.measure, self.keeper.save, progress, self.clock, end_s)
            rounds.run()

    def _warm_up(self, subjects: Sequence[Subject]) -> None:
        asked = self.asked
        ups = WarmUps(asked.mix, asked.plan.loads, asked.protocols, self.own, self.clock)
        for subject in subjects:
            if subject.silence is not None:
                self._say(f"{subject.target.name}: the server's side is unknown: {subject.silence}")
            ups.check(subject)
        targets = []
        for subject in subjects:
            warm_up = ups.warm_up(subject)
            targets.append(replace(subject.target, warm_up=warm_up))
            self._say(f"{subject.target.name}: warm-up, {_in_words(warm_up)}")
        self.keeper.record = replace(self.keeper.record, targets=tuple(targets))

    def _say(self, text: str) -> None:
        self.err.write(text + "\n")
        self.err.flush()


def _in_words(warm_up: Sequence[WarmUp]) -> str:
    times = (f"{one.rows}: {one.first_ms:.0f}/{one.last_ms:.0f}" for one in warm_up)
    return f"first and last ms of a request, by images: {', '.join(times)}"


def _empty_record(asked: Asked) -> Record:
    return Record(
        kind="bench",
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        origin=origin(),
        command=asked.command,
        engine=label_of(asked.engine),
        seed=asked.seed,
        slo_p95_ms=asked.slo_p95_ms,
        mix=tuple(map(kind_of, asked.mix)),
        targets=(),
        cells=(),
    )

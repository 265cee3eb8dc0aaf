"""Every cell of every round in turn; what was measured is kept whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tools.bench.cell import INTERRUPTED
from tools.bench.engine import Tick
from tools.bench.plan import Plan, Step
from tools.bench.progress import Progress
from tools.clock import Clock
from tools.record.record import Cell

Measure = Callable[[Step, Tick], Cell]
Save = Callable[[list[Cell], bool], None]


@dataclass
class Rounds:
    """The rounds of one run.

    Attributes:
        plan: what is measured, and in which order.
        measure: makes a cell of a step.
        save: takes the cells so far, and whether Ctrl-C ended the run.
        progress: what the user sees.
        clock: time.
        end_s: on the clock; no round begins that would not end before. None: all begin.
        cells: in the order in which they were measured.
        interrupted: whether Ctrl-C ended it.
    """

    plan: Plan
    measure: Measure
    save: Save
    progress: Progress
    clock: Clock
    end_s: float | None = None
    cells: list[Cell] = field(default_factory=list)
    interrupted: bool = False

    def run(self) -> None:
        """Measure; the cells are saved after each round, and at the end of whatever kind.

        Raises:
            ServingError: a target has ended or does not answer any more.
            KeyboardInterrupt: before there was anything to keep.
        """
        try:
            self._rounds()
        except KeyboardInterrupt:
            self.interrupted = True
            if not self.cells:
                raise
        finally:
            if self.cells:
                self.save(self.cells, self.interrupted)

    def _rounds(self) -> None:
        start_s = self.clock.now_s()
        for number in range(self.plan.rounds):
            if number and self._is_too_late(start_s, number):
                self.progress.say(f"the time is up after {number} of {self.plan.rounds} rounds")
                return
            for step in self.plan.steps(number):
                self.cells.append(self.measure(step, self.progress.begin(step)))
                if self.cells[-1].unused == INTERRUPTED:
                    raise KeyboardInterrupt
                self.progress.end(step)
            self.save(self.cells, False)

    def _is_too_late(self, start_s: float, done: int) -> bool:
        now_s = self.clock.now_s()
        return self.end_s is not None and now_s + (now_s - start_s) / done > self.end_s

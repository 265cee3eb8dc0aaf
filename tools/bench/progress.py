"""How far the run is, and how long it will still take: a bar on a terminal, else a line a round."""

from __future__ import annotations

from typing import TextIO

from tqdm import tqdm

from tools.bench.engine import Tick
from tools.bench.plan import Plan, Step
from tools.clock import Clock

BAR = "{desc} |{bar}| {percentage:.0f}%, {remaining} left"


class Progress:
    """Of one plan, from now.

    Args:
        plan: to be done.
        err: where it is shown.
        clock: time.
    """

    def __init__(self, plan: Plan, err: TextIO, clock: Clock) -> None:
        self._plan = plan
        self._err = err
        self._clock = clock
        self._start_s = clock.now_s()
        self._done = 0
        self._bar = tqdm(
            total=plan.rounds * plan.cells_a_round,
            file=err,
            disable=not err.isatty(),
            leave=False,
            bar_format=BAR,
            dynamic_ncols=True,
            smoothing=0,
        )

    def begin(self, step: Step) -> Tick:
        """A cell begins; what comes back takes the seconds that it has run."""
        name = f"{step.side.target} {step.side.protocol}, {step.load.label}"
        self._bar.set_description_str(f"round {step.round + 1} of {self._plan.rounds}: {name}")
        begun, whole_s = self._done, self._plan.cell_s

        def tick(passed_s: float) -> None:
            self._bar.update(begun + min(1.0, passed_s / whole_s) - self._bar.n)

        return tick

    def end(self, step: Step) -> None:
        """A cell has ended."""
        self._done += 1
        self._bar.update(self._done - self._bar.n)
        if self._bar.disable and self._done % self._plan.cells_a_round == 0:
            rounds = step.round + 1
            passed_s = self._clock.now_s() - self._start_s
            left_s = passed_s / rounds * (self._plan.rounds - rounds)
            self.say(f"round {rounds} of {self._plan.rounds}, about {in_minutes(left_s)} left")

    def say(self, text: str) -> None:
        """A line above the bar."""
        tqdm.write(text, file=self._err)

    def close(self) -> None:
        """Takes the bar away."""
        self._bar.close()


def in_minutes(seconds: float) -> str:
    """Such as ``4:07``."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"

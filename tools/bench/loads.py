"""From ``--load`` and ``--arrivals`` to loads, and from a load to when requests are due."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ensemble.errors import ContractMismatch
from tools.load.arrivals import Pattern, Recorded, pattern
from tools.load.loads import ClosedLoop, OpenLoop
from tools.record.record import Load

MAX_CALLERS = 1024
MIN_EXPECTED = 5.0
"""Requests in one cell; fewer tell nothing."""
DEFAULT_LOAD = "concurrency=1:64"
DEFAULT_ARRIVALS = "poisson"
_EXPECTED = "expected concurrency=1:64, concurrency=1,8,32, rate=20:200 or rate=20,80"


@dataclass(frozen=True)
class Loads:
    """What is to be put on every target.

    Attributes:
        loads: in ascending order of each kind.
        arrivals: of the open ones; None: there are none.
        as_recorded: whether the open one is a recording at its own rate.
    """

    loads: tuple[Load, ...]
    arrivals: Pattern | None = None
    as_recorded: bool = False

    def loop(
        self, load: Load, duration_s: float, random: np.random.Generator
    ) -> ClosedLoop | OpenLoop:
        """What the generator is told.

        Raises:
            ContractMismatch: too many arrivals.
        """
        if self.arrivals is None or load.kind == "closed":
            return ClosedLoop(int(load.value))
        return OpenLoop(self.arrivals.times_s(self._rate_per_s(load), duration_s, random))

    def remarks(self, duration_s: float) -> list[str]:
        """What is done to a recording so that it fits into ``duration_s``."""
        if self.arrivals is None:
            return []
        opened = (one for one in self.loads if one.kind == "open")
        said = (self.arrivals.remark(self._rate_per_s(one), duration_s) for one in opened)
        return [text for text in said if text is not None]

    def _rate_per_s(self, load: Load) -> float | None:
        return None if self.as_recorded else load.value


def loads_of(texts: Sequence[str], arrivals: str | None, points: int, duration_s: float) -> Loads:
    """The loads that the command line names; without any, a recording's own or the usual sweep.

    Args:
        texts: of ``--load``.
        arrivals: of ``--arrivals``.
        points: that a range such as ``1:64`` stands for.
        duration_s: of one cell.

    Raises:
        ContractMismatch: with the option and what is expected.
    """
    if not texts and arrivals is not None:
        return _recorded(arrivals)
    found = [one for text in texts or [DEFAULT_LOAD] for one in _parsed(text, points)]
    loads = tuple(dict.fromkeys(found))
    if all(one.kind == "closed" for one in loads):
        if arrivals is not None:
            raise ContractMismatch(
                f"--arrivals {arrivals}: expected --load rate=… beside it, got callers only"
            )
        return Loads(loads)
    come = pattern(arrivals or DEFAULT_ARRIVALS)
    for one in loads:
        if one.kind == "open" and one.value * duration_s < MIN_EXPECTED:
            raise ContractMismatch(
                f"--load rate={one.value:g}: expected at least {MIN_EXPECTED:g} requests in "
                f"{duration_s:g} s, got {one.value * duration_s:g}: lengthen --duration-s"
            )
    named = (one if one.kind == "closed" else Load("open", one.value, come.name) for one in loads)
    return Loads(tuple(named), come)


def _recorded(arrivals: str) -> Loads:
    come = pattern(arrivals)
    if not isinstance(come, Recorded):
        raise ContractMismatch(f"--arrivals {arrivals}: expected --load rate=… beside it")
    rate_per_s = _rounded(come.arrivals.rate_per_s)
    return Loads((Load("open", rate_per_s, come.name),), come, as_recorded=True)


def _parsed(text: str, points: int) -> list[Load]:
    kind, _, values = text.partition("=")
    try:
        low, *rest = [float(value) for value in values.replace(":", ",").split(",")]
    except ValueError as error:
        raise ContractMismatch(f"--load {text}: {_EXPECTED}") from error
    numbers = [low, *rest]
    if ":" in values:
        if "," in values or len(rest) != 1 or not 0 < low <= rest[0] < math.inf:
            raise ContractMismatch(f"--load {text}: {_EXPECTED}")
        numbers = np.geomspace(low, rest[0], points).tolist()
    if kind == "concurrency":
        return [_callers(number, text) for number in numbers]
    if kind == "rate" and all(0 < number < math.inf for number in numbers):
        return [Load("open", _rounded(number)) for number in numbers]
    raise ContractMismatch(f"--load {text}: {_EXPECTED}")


def _callers(number: float, text: str) -> Load:
    if not 1 <= number <= MAX_CALLERS:
        raise ContractMismatch(f"--load {text}: expected 1 to {MAX_CALLERS} callers")
    return Load("closed", float(round(number)))


def _rounded(rate_per_s: float) -> float:
    """Three digits: more would only make labels long."""
    return float(f"{rate_per_s:.3g}")

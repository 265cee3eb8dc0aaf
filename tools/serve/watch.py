"""Notice what Triton does not: a dead stub, a stage that hangs, a server that is gone.

Decides from observations alone and says what to do; ``serve`` does it. So the rules are tested
without a server and without waiting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

HANG_S = 15.0
"""No execution of a stage for so long, while a probe waits, is a hang and not a long queue."""
MAX_BACK_OFF_S = 30.0


@dataclass
class StubWatch:
    """Which models have lost a stub that they had.

    A model that is loaded again has new stubs of the same names before the old ones end, and one
    of the old ones may never end: an instance is its newest stub. Only a model that Triton calls
    ready and that lacks an instance it had, twice in a row, has lost it; what is not ready now, or
    did not say so in time, is judged when it is.
    """

    _known: dict[str, dict[str, float]] = field(default_factory=dict)
    _missing: set[str] = field(default_factory=set)

    @property
    def suspects(self) -> bool:
        """A model lacks a stub that it had; the next observation decides, so it should be soon."""
        return bool(self._missing)

    def observe(self, started_s: Mapping[str, float], ready_models: set[str]) -> set[str]:
        """Models to load again.

        Args:
            started_s: when the newest live stub of each instance was started, any clock.
            ready_models: what Triton calls ready.
        """
        current: dict[str, dict[str, float]] = {}
        for instance, start_s in started_s.items():
            current.setdefault(model_of(instance), {})[instance] = start_s
        missing = {
            model
            for model in ready_models & set(self._known)
            if _lacks(current.get(model, {}), self._known[model])
        }
        lost = missing & self._missing
        self._missing = (missing - lost) | (self._missing - ready_models)
        self._known |= {model: current.get(model, {}) for model in ready_models - self._missing}
        return lost


def model_of(instance: str) -> str:
    """The model of ``<model>_<group>_<number>``."""
    return instance.rsplit("_", 2)[0]


def _lacks(current: Mapping[str, float], known: Mapping[str, float]) -> bool:
    return any(current.get(name, -math.inf) < start_s for name, start_s in known.items())


@dataclass
class ProgressWatch:
    """Which stages stand still although a request waits for them."""

    _counts: dict[str, int] = field(default_factory=dict)
    _since_s: float | None = None

    def observe(self, now_s: float, answered: bool, counts: dict[str, int]) -> bool:
        """Whether nothing at all has moved for ``HANG_S`` while probes went unanswered.

        Args:
            now_s: a monotonic clock.
            answered: the last probe was answered, well or badly.
            counts: executions of each stage.
        """
        if answered or counts != self._counts or self._since_s is None:
            self._since_s = now_s
        self._counts = counts
        return now_s - self._since_s >= HANG_S


@dataclass
class BackOff:
    """How long to wait before the next start: doubles from half a second, up to 30."""

    first_s: float = 0.5
    healthy_s: float = 60.0
    _next_s: float = 0.0

    def after_run_of(self, seconds: float) -> float:
        """The wait after a run that lasted ``seconds``; a long run starts the count anew."""
        if seconds >= self.healthy_s or self._next_s == 0.0:
            self._next_s = self.first_s
        wait_s = self._next_s
        self._next_s = min(MAX_BACK_OFF_S, 2 * self._next_s)
        return wait_s

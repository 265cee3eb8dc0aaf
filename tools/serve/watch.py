"""Notice what Triton does not: a dead stub, a stage that hangs, a server that is gone.

Decides from observations alone and says what to do; ``serve`` does it. So the rules are tested
without a server and without waiting.
"""

from __future__ import annotations

from dataclasses import dataclass, field

HANG_S = 15.0
"""No execution of a stage for so long, while a probe waits, is a hang and not a long queue."""
MAX_BACK_OFF_S = 30.0


@dataclass
class StubWatch:
    """Which models have lost a stub that they had.

    A model that is loaded again has new stubs of the same names before the old ones end; one that
    was unloaded is no longer ready. Only a model that is ready and lacks an instance it had, twice
    in a row, has lost it.
    """

    _known: dict[str, set[str]] = field(default_factory=dict)
    _missing: set[str] = field(default_factory=set)

    @property
    def suspects(self) -> bool:
        """A model lacks a stub that it had; the next observation decides, so it should be soon."""
        return bool(self._missing)

    def observe(self, instances: set[str], ready_models: set[str]) -> set[str]:
        """Models to load again.

        Args:
            instances: names of the live stubs, ``<model>_<group>_<number>``.
            ready_models: what Triton calls ready.
        """
        current: dict[str, set[str]] = {}
        for name in instances:
            current.setdefault(name.rsplit("_", 2)[0], set()).add(name)
        missing = {
            model
            for model, names in self._known.items()
            if model in ready_models and names - current.get(model, set())
        }
        lost = missing & self._missing
        self._missing = missing - lost
        self._known = {
            model: self._known[model] if model in self._missing else current.get(model, set())
            for model in ready_models
        }
        return lost


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

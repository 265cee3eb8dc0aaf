"""How requests of an open loop come: constant, Poisson, bursty, or as they were recorded."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ensemble.errors import ContractMismatch
from tools.load.arrivals_file import MAX_ARRIVALS, Arrivals, read
from tools.record.samples import Floats

WORDS = "constant, poisson, bursty, bursty:factor=4,on=0.2,cycle-s=1 or an arrivals file"


class Pattern(ABC):
    """When requests are due."""

    @property
    @abstractmethod
    def name(self) -> str:
        """For the record; ``pattern`` takes it back, unless it is the name of a file."""

    def times_s(
        self, rate_per_s: float | None, duration_s: float, random: np.random.Generator
    ) -> Floats:
        """Arrivals, float64, ascending, in [0, ``duration_s``).

        Args:
            rate_per_s: mean arrival rate; None: as recorded, which only a file can be.
            duration_s: seconds.
            random: everything random comes from it.

        Raises:
            ContractMismatch: no rate, a wrong one, or too many arrivals for one run.
        """
        times_s = self._times_s(self._rate(rate_per_s, duration_s), duration_s, random)
        return times_s[times_s < duration_s]

    def remark(self, rate_per_s: float | None, duration_s: float) -> str | None:
        """What was done to a recording so that it fits; None: nothing.

        Raises:
            ContractMismatch: as ``times_s``.
        """
        self._rate(rate_per_s, duration_s)
        return None

    @abstractmethod
    def _times_s(self, rate_per_s: float, duration_s: float, random: np.random.Generator) -> Floats:
        """Ascending from 0; those that are too late are taken off."""

    def _rate(self, rate_per_s: float | None, duration_s: float) -> float:
        if rate_per_s is None or not 0 < rate_per_s < math.inf:
            raise ContractMismatch(f"{self.name}: expected a rate above 0, got {rate_per_s}")
        if not 0 < duration_s < math.inf:
            raise ContractMismatch(f"{self.name}: expected a time above 0 s, got {duration_s:g}")
        self._limit(rate_per_s * duration_s)
        return rate_per_s

    def _limit(self, expected: float) -> None:
        if expected > MAX_ARRIVALS:
            raise ContractMismatch(
                f"{self.name}: expected at most {MAX_ARRIVALS} arrivals, got {expected:.0f}"
            )


class Constant(Pattern):
    """One every 1/rate seconds, the first at 0: the number in any window is rate · window ± 1."""

    name = "constant"

    def _times_s(self, rate_per_s: float, duration_s: float, random: np.random.Generator) -> Floats:
        return np.arange(math.ceil(rate_per_s * duration_s)) / rate_per_s


class Poisson(Pattern):
    """Independent of each other: mean and variance of the number in a window are rate · window.

    Drawn as that number and as many uniform times, so no gap is cut short.
    Source: conditional uniformity of the Poisson process, S. Ross, Stochastic Processes, 2.3.
    """

    name = "poisson"

    def _times_s(self, rate_per_s: float, duration_s: float, random: np.random.Generator) -> Floats:
        return np.sort(duration_s * random.random(random.poisson(rate_per_s * duration_s)))


@dataclass(frozen=True)
class Bursty(Pattern):
    """On and off: a Poisson process whose rate changes between two values (two-state MMPP).

    Times on and off are exponential. The first state is drawn from the stationary distribution, so
    there is nothing to warm up. With mean rate r:

        rate while on   factor · r
        rate while off  r · (1 - factor · on) / (1 - on)
        mean on, off    on · cycle_s, (1 - on) · cycle_s

    Attributes:
        factor: burst factor: rate while on over mean rate; at least 1, at most 1/on, which leaves
            nothing for the time off.
        on: share of the time that is on, in (0, 1).
        cycle_s: mean length of one time on and one off.
    """

    factor: float = 4.0
    on: float = 0.2
    cycle_s: float = 1.0

    def __post_init__(self) -> None:
        """Raises ContractMismatch: there is no such process."""
        if not 0 < self.on < 1:
            raise ContractMismatch(f"bursty: expected on above 0 and below 1, got {self.on:g}")
        if not 1 <= self.factor <= 1 / self.on * (1 + 1e-9):
            raise ContractMismatch(
                f"bursty: expected factor of 1 to 1/on = {1 / self.on:g}, got {self.factor:g}"
            )
        if not 1e-6 <= self.cycle_s < math.inf:
            raise ContractMismatch(f"bursty: expected cycle-s above 0, got {self.cycle_s:g}")

    @property
    def name(self) -> str:
        """With every value."""
        return f"bursty:factor={self.factor:g},on={self.on:g},cycle-s={self.cycle_s:g}"

    @property
    def factor_off(self) -> float:
        """Rate while off over mean rate."""
        return max(0.0, (1 - self.factor * self.on) / (1 - self.on))

    def dispersion(self, rate_per_s: float, window_s: float) -> float:
        """Variance over mean of the number of arrivals in a window; the mean is rate · window.

        1 + 2 s²/(r k) · (1 - (1 - exp(-k t)) / (k t)), with s² = on · (1 - on) · (rate on -
        rate off)² and k = 1/mean on + 1/mean off. It grows from 1 to 1 + 2 s²/(r k).

        Source: W. Fischer, K. Meier-Hellstern, The Markov-modulated Poisson process (MMPP)
        cookbook, Performance Evaluation 18 (1993), for two states.
        """
        spread = self.on * (1 - self.on) * (self.factor - self.factor_off) ** 2
        switching = 1 / (self.on * (1 - self.on) * self.cycle_s)
        passed = switching * window_s
        return 1 + 2 * spread * rate_per_s / switching * (1 + math.expm1(-passed) / passed)

    def _times_s(self, rate_per_s: float, duration_s: float, random: np.random.Generator) -> Floats:
        self._limit(duration_s / self.cycle_s)  # and at most so many changes of the rate
        changes_s, is_on = self._states(duration_s, random)
        rates = rate_per_s * np.where(is_on, self.factor, self.factor_off)
        # Arrivals are a Poisson process of rate 1 on the scale of the rate's integral.
        integral = np.concatenate([[0.0], np.cumsum(rates * np.diff(changes_s))])
        self._limit(integral[-1])
        places = np.sort(integral[-1] * random.random(random.poisson(integral[-1])))
        return np.interp(places, integral, changes_s)

    def _states(
        self, duration_s: float, random: np.random.Generator
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Times of changes, from 0 to ``duration_s``, and whether on between each two."""
        first_on = random.random() < self.on
        ends_s = np.zeros(1)
        while ends_s[-1] < duration_s:
            cycles = 1 + int(1.2 * (duration_s - ends_s[-1]) / self.cycle_s)
            means_s = self.cycle_s * np.array([self.on, 1 - self.on])
            stays_s = random.exponential(means_s if first_on else means_s[::-1], (cycles, 2))
            ends_s = np.concatenate([ends_s, ends_s[-1] + np.cumsum(stays_s)])
        inner_s = ends_s[ends_s < duration_s]
        return np.append(inner_s, duration_s), (np.arange(len(inner_s)) % 2 == 0) == first_on


@dataclass(frozen=True)
class Recorded(Pattern):
    """As they were recorded; with a rate, faster or slower in proportion, bursts too.

    Attributes:
        arrivals: the recording.
        file: its name, without the folder.
    """

    arrivals: Arrivals
    file: str

    @property
    def name(self) -> str:
        """Of its file."""
        return self.file

    def _times_s(self, rate_per_s: float, duration_s: float, random: np.random.Generator) -> Floats:
        speed, repeats = self._fitted(rate_per_s, duration_s)
        starts_s = self.arrivals.duration_s / speed * np.arange(math.ceil(repeats))
        times_s = starts_s[:, np.newaxis] + self.arrivals.times_s / speed
        return times_s.ravel()

    def remark(self, rate_per_s: float | None, duration_s: float) -> str | None:
        """Its speed, and what part of it or how often; None: it fits as it is."""
        speed, repeats = self._fitted(rate_per_s, duration_s)
        changes = []
        if not 0.999 < speed < 1.001:
            changes.append(f"played at {speed:.3g} times its speed")
        if repeats < 0.999:
            changes.append(f"its first {100 * repeats:.0f}%")
        if repeats > 1.001:
            changes.append(f"{repeats:.1f} times in a row")
        length = f"{self.name}: {self.arrivals.duration_s:g} s"
        return ", ".join([length, *changes]) if changes else None

    def _rate(self, rate_per_s: float | None, duration_s: float) -> float:
        recorded = self.arrivals.rate_per_s
        return super()._rate(recorded if rate_per_s is None else rate_per_s, duration_s)

    def _fitted(self, rate_per_s: float | None, duration_s: float) -> tuple[float, float]:
        """How much faster it is played, and how often."""
        speed = self._rate(rate_per_s, duration_s) / self.arrivals.rate_per_s
        return speed, duration_s * speed / self.arrivals.duration_s


def pattern(text: str) -> Pattern:
    """The pattern that the command line names.

    Args:
        text: ``constant``, ``poisson``, ``bursty``, ``bursty:`` with any of ``factor=``, ``on=``
            and ``cycle-s=``, or the path of an arrivals file.

    Raises:
        ContractMismatch: anything else.
    """
    if text == Constant.name:
        return Constant()
    if text == Poisson.name:
        return Poisson()
    word, _, settings = text.partition(":")
    if word == "bursty":
        return _bursty(settings)
    path = Path(text)
    try:
        return Recorded(read(path), path.name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ContractMismatch(f"arrivals {text}: expected {WORDS}; {reason}") from error


def _bursty(settings: str) -> Bursty:
    names = {field.name.replace("_", "-"): field.name for field in fields(Bursty)}
    values = {}
    for setting in filter(None, settings.split(",")):
        name, _, value = setting.partition("=")
        try:
            values[names[name]] = float(value)
        except (KeyError, ValueError) as error:
            raise ContractMismatch(
                f"bursty: expected {', '.join(f'{one}=NUMBER' for one in names)}, got {setting}"
            ) from error
    return Bursty(**values)

"""Arrivals of a known kind, at rates and in numbers that users have, stamped as their logs do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from tools.arrivals.dispersion import MIN_WINDOWS, SCALES_S, Scale
from tools.load.arrivals import Bursty, Constant, Pattern, Poisson
from tools.load.arrivals_file import Arrivals

Floats = npt.NDArray[np.float64]

RATES_PER_S = (5.0, 20.0, 100.0, 500.0, 2000.0)
COUNTS = (200, 1000, 5000, 20_000)
STEPS_S = (1e-9, 1e-3)
GROUP = 8
Made = tuple[str, Arrivals]


def stamped(times_s: Floats, step_s: float) -> Arrivals:
    """As a clock of such steps has it, from the first to one mean gap after the last."""
    times_s = times_s - times_s[0]
    if step_s > 1e-9:
        times_s = np.floor(times_s / step_s) * step_s
    gap_s = max(step_s, times_s[-1] / (len(times_s) - 1))
    return Arrivals(times_s, float(times_s[-1] + gap_s), "made", step_s)


def _settings(random: np.random.Generator) -> tuple[float, float, float]:
    """Rate, duration and step of the clock; no clock of 1 ms can stamp 2,000/s one by one."""
    rate_per_s, count = random.choice(RATES_PER_S), random.choice(COUNTS)
    return float(rate_per_s), float(count / rate_per_s), float(random.choice(STEPS_S))


def many(draw: Callable[[np.random.Generator], Made | None], count: int) -> list[Made]:
    """So many that were drawn, leaving out those that can't be told by anybody."""
    random = np.random.default_rng(20)
    found: Iterator[Made] = (one for _ in iter(int, 1) if (one := draw(random)) is not None)
    return list(islice(found, count))


def plain(pattern: Pattern) -> Callable[[np.random.Generator], Made | None]:
    """Constant or Poisson arrivals."""

    def draw(random: np.random.Generator) -> Made | None:
        rate_per_s, duration_s, step_s = _settings(random)
        times_s = pattern.times_s(rate_per_s, duration_s, random)
        return f"{rate_per_s:g}/s, {len(times_s)}, {step_s:g}", stamped(times_s, step_s)

    return draw


def jittered(random: np.random.Generator) -> Made | None:
    """Evenly spaced but for up to half a gap each."""
    rate_per_s, duration_s, step_s = _settings(random)
    times_s = Constant().times_s(rate_per_s, duration_s, random)
    times_s = np.sort(times_s + random.random(len(times_s)) / 2 / rate_per_s)
    return f"{rate_per_s:g}/s, {len(times_s)}, {step_s:g}", stamped(times_s, step_s)


def grouped(pattern: Pattern) -> Callable[[np.random.Generator], Made | None]:
    """Eight within 0.2 ms, the groups as ``pattern`` has them."""

    def draw(random: np.random.Generator) -> Made | None:
        rate_per_s, duration_s, step_s = _settings(random)
        starts_s = pattern.times_s(rate_per_s / GROUP, duration_s, random)
        spread_s = random.uniform(0, 2e-4, (len(starts_s), GROUP))
        times_s = np.sort((starts_s[:, np.newaxis] + spread_s).ravel())
        return f"{rate_per_s:g}/s, {len(times_s)}, {step_s:g}", stamped(times_s, step_s)

    return draw


def bursty(random: np.random.Generator) -> Made | None:
    """Bursts of factor 2 and more, longer than a group, of which theory says that they show."""
    rate_per_s, duration_s, step_s = _settings(random)
    factor = float(random.choice((2.0, 3.0, 5.0, 10.0)))
    on = float(random.uniform(0.2, 1.0)) / factor
    cycle_s = duration_s / float(random.uniform(20, 200))
    of = Bursty(factor, on, cycle_s)
    if on * cycle_s < 0.05 or not _shows(of, rate_per_s, duration_s):
        return None
    times_s = of.times_s(rate_per_s, duration_s, random)
    return f"{of.name}, {rate_per_s:g}/s, {len(times_s)}, {step_s:g}", stamped(times_s, step_s)


def _shows(of: Bursty, rate_per_s: float, duration_s: float) -> bool:
    """Whether its local dispersion is twice what chance gives Poisson arrivals, on some scale."""
    for window_s in SCALES_S:
        windows, mean = math.floor(duration_s / window_s) - 1, rate_per_s * window_s
        if windows >= MIN_WINDOWS and mean >= 1:
            chance = Scale(window_s, windows, mean, 1, 1, 1, 1).chance_recurring()
            if local_dispersion(of, rate_per_s, window_s) > 2 * max(1.5, chance):
                return True
    return False


def local_dispersion(of: Bursty, rate_per_s: float, window_s: float) -> float:
    """From the variances V of counts in 1, 2 and 3 windows: (15 V1 - 6 V2 + V3) / 6 / mean."""
    one, two, three = (of.dispersion(rate_per_s, n * window_s) for n in (1, 2, 3))
    return (5 * one - 4 * two + three) / 2


UNIFORM, POISSON = Constant(), Poisson()

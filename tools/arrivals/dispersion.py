"""Counts of arrivals in windows: how much they vary, on time scales from a millisecond to minutes.

Two measures, both 1 for a Poisson process on every scale:

index of dispersion for counts  variance over mean of the counts. A slow change of the rate makes it
    grow without end. Source: R. Gusella, Characterizing the variability of arrival processes with
    indexes of dispersion, IEEE JSAC 9 (1991).
local dispersion  a sixth of the mean square of the second difference of neighbouring counts, over
    the mean: the Allan factor, with one difference more, so that a steady rise or fall of the rate
    cancels. Source: S. B. Lowen, M. C. Teich, Fractal-Based Point Processes, Wiley (2005), 3.4; the
    further difference is that of the Hadamard variance, R. A. Baugh, Proc. 25th Annual Symposium on
    Frequency Control (1971).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tools.record.samples import Floats

SCALES_S = tuple(
    step * 10.0**decade for decade in range(-3, 3) for step in (1, 2, 5) if step * 10**decade <= 100
)
QUARTERS = 4
MIN_WINDOWS = 10 * QUARTERS
MAX_WINDOWS = 1 << 22
"""Looked at, from the beginning: 70 minutes of milliseconds."""
FEW = 2000
"""Arrivals looked at on a scale with less than one in a window, where only groups show."""
CHANCE = 3.72
"""Standard deviations: chance alone goes beyond them once in 10,000 times."""
CHANCE_THRICE = 2.2
"""Chance goes beyond them in three of four quarters about as rarely."""


@dataclass(frozen=True)
class Scale:
    """Counts in windows of one length.

    Attributes:
        window_s: the length.
        windows: that were looked at.
        mean: arrivals in one.
        dispersion: index of dispersion for counts.
        local: local dispersion.
        recurring: local dispersion that three of the four quarters of the windows reach.
        peak_to_mean: the fullest window over the mean one.
    """

    window_s: float
    windows: int
    mean: float
    dispersion: float
    local: float
    recurring: float
    peak_to_mean: float

    def chance(self, size: float = 1.0) -> tuple[float, float]:
        """Where the local dispersion of Poisson arrivals of groups of ``size`` lies.

        Its variance is (35/9 + 1/m)/w for w windows of m groups; its law is taken for a scaled
        chi-square with that variance, by Wilson and Hilferty's cube.
        Source: moments of the Poisson distribution; E. B. Wilson, M. M. Hilferty, PNAS 17 (1931).
        """
        return self._bound(size, -CHANCE, self.windows), self._bound(size, CHANCE, self.windows)

    def chance_recurring(self, size: float = 1.0) -> float:
        """What three of four quarters of such arrivals hardly ever reach."""
        return self._bound(size, CHANCE_THRICE, self.windows / QUARTERS)

    def _bound(self, size: float, deviations: float, windows: float) -> float:
        part = (35 / 9 + size / self.mean) / windows / 9
        return size * max(0.0, 1 - part + deviations * math.sqrt(part)) ** 3


def scales(times_s: Floats, duration_s: float, resolution_s: float) -> list[Scale]:
    """Every time scale that the recording is long and fine enough for.

    Args:
        times_s: ascending, from 0.
        duration_s: of the recording.
        resolution_s: one step of its clock; windows are whole steps.
    """
    found = []
    rate_per_s = len(times_s) / duration_s
    for wanted_s in SCALES_S:
        steps = round(wanted_s / resolution_s)
        window_s = steps * resolution_s
        # What came in the last step of the clock may be but a part of it.
        windows = math.floor((duration_s - resolution_s) / window_s) - 1 if steps else 0
        if windows >= MIN_WINDOWS:
            # The first arrival in the middle of a window: groups in step with it stay whole, and
            # no stamp, a whole number of steps, is on an edge.
            places = (times_s / resolution_s + steps // 2 + 0.5) / steps
            mean = rate_per_s * window_s
            most = MAX_WINDOWS if mean >= 1 else MIN_WINDOWS + math.ceil(FEW / mean)
            counts = _counts(places, min(windows, most, MAX_WINDOWS))
            if counts.any():
                found.append(_scale(window_s, counts))
    return found


def _counts(places: Floats, windows: int) -> Floats:
    """In window 1 and those after it; what was before the first arrival is missing in window 0."""
    inside = places[slice(*np.searchsorted(places, (1, windows + 1)))]
    return np.bincount(inside.astype(np.int64) - 1, minlength=windows).astype(np.float64)


def _scale(window_s: float, counts: Floats) -> Scale:
    mean = float(counts.mean())
    squares = np.square(np.diff(counts, 2)) / 6
    quarters = zip(np.array_split(squares, QUARTERS), np.array_split(counts, QUARTERS), strict=True)
    locals_ = sorted(float(part.mean() / of.mean()) if of.any() else 0.0 for part, of in quarters)
    return Scale(
        window_s,
        len(counts),
        mean,
        float(counts.var() / mean),
        float(squares.mean() / mean),
        locals_[1],
        float(counts.max() / mean),
    )

"""Uniform, Poisson-like, bursty or in groups: the kind of arrivals, and what shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.arrivals.dispersion import Scale

MIN_ARRIVALS = 100
"""Fewer make no kind likely enough."""
BURSTY = 1.5
"""Times the variance of Poisson arrivals: below it, nobody would set a server otherwise."""
UNIFORM = 0.5
"""Times the variation of Poisson arrivals, of counts or gaps: of 100 gaps, chance never has it."""
GROUP = 2.0
"""Of arrivals that come in twos, at the least."""
TOGETHER_S = 0.0101
"""What comes within so long can share a batch; longer is a burst."""
_FINE = 10.0
"""Arrivals, or groups, in a window: whether they are evenly spaced shows where there are few."""
_MOST = 0.7
"""Of the size of groups: with their spread, some lie across the edge of a window."""
_GROWTH = 0.5
"""Of what it is on scales up to ten times as long, for groups of whatever size."""


@dataclass(frozen=True)
class Verdict:
    """What the arrivals are, or what their groups are where they come in groups.

    Attributes:
        kind: ``uniform``, ``poisson-like``, ``bursty`` or ``too-few``.
        shown_by: the scale that shows it; None: too few to tell.
        judged: every scale that was looked at for it.
        together: the finest scale on which groups show; None: no groups.
        group_size: by which they make all counts vary more; 1: no groups.
    """

    kind: str
    shown_by: Scale | None
    judged: tuple[Scale, ...]
    together: Scale | None = None
    group_size: float = 1.0


def judge(scales: Sequence[Scale], variation: float | None) -> Verdict:
    """The kind, from every time scale of a recording.

    Groups first: they make the counts of all scales vary by their size. Then the scales with an
    arrival, or a group, in most windows: bursty where one of them varies more than chance and
    ``BURSTY`` allow; uniform where one of the finest is steadier than chance and ``UNIFORM``
    allow, or the gaps are.

    Args:
        scales: of the recording.
        variation: coefficient of variation of the gaps; None: the clock is too coarse for them.
    """
    together, size = _together(scales)
    judged = tuple(one for one in scales if one.mean >= size)
    enough = [one for one in judged if one.mean * one.windows >= MIN_ARRIVALS * size]
    if not enough:
        return Verdict("too-few", None, judged, together, size)
    most = max(enough, key=lambda one: burstiness(one, size))
    if burstiness(most, size) > 1:
        return Verdict("bursty", most, judged, together, size)
    for one in enough:
        by_counts = one.local < min(UNIFORM * size, one.chance(size)[0])
        by_gaps = variation is not None and variation < UNIFORM
        if one.mean <= _FINE * size and (by_counts or by_gaps):
            return Verdict("uniform", one, judged, together, size)
    return Verdict("poisson-like", most, judged, together, size)


def burstiness(scale: Scale, size: float) -> float:
    """Over the most that chance, and what does not matter, make of it; in two quarters at least.

    So a single step of the rate is no burst.
    """
    return scale.recurring / max(BURSTY * size, scale.chance_recurring(size))


def _together(scales: Sequence[Scale]) -> tuple[Scale | None, float]:
    """The finest scale on which most of a group is in one window, and their size; or none, and 1.

    The local dispersion of groups is their size on every scale that is longer than they are; that
    of a changing rate goes on growing with the square of the window, while the window is short.
    Windows with more than one group in them say nothing of what comes together.
    """
    first = next((one for one in scales if one.local > max(GROUP, one.chance()[1])), None)
    if first is None or first.window_s > TOGETHER_S:
        return None, 1.0
    near = [one for one in scales if first.window_s <= one.window_s <= 10 * first.window_s]
    short = [one for one in near if one.window_s <= TOGETHER_S and one.mean <= one.local]
    size = max((one.local for one in short), default=0.0)
    if size < _GROWTH * max(one.local for one in near):
        return None, 1.0
    return next(one for one in short if one.local >= _MOST * size), size

"""Everything that is said of a recording: gaps, counts on every time scale, bursts, drift."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tools.arrivals.dispersion import Scale, scales
from tools.arrivals.verdict import BURSTY, MIN_ARRIVALS, Verdict, burstiness, judge
from tools.load.arrivals_file import Arrivals
from tools.record.samples import Floats

BLOCKS = 10
DRIFT = 5.0
"""Times the variance that the burstiness leads one to expect: one in 1,000 of F(9, 12)."""
MIN_DRIFT = 1.25
"""The fastest tenth over the slowest; less than that is of no use to know."""
_GAP_EDGES = 2.0 ** np.arange(-5, 6)
_DEVIATIONS = 4.0
_CLEARLY = 3.0
_GROWING = 1.3
"""From the last scale but one to the last: bursts may be longer than either."""


@dataclass(frozen=True)
class Gaps:
    """Times between arrivals.

    Attributes:
        mean_s: of them.
        variation: coefficient of variation: standard deviation over mean; Poisson 1, uniform 0.
        edges_s: between the bins of the histogram, each twice the one before.
        shares: of the gaps in each bin, the first below all edges, the last above.
        poisson: what Poisson arrivals of this rate would have there.
    """

    mean_s: float
    variation: float
    edges_s: tuple[float, ...]
    shares: tuple[float, ...]
    poisson: tuple[float, ...]


@dataclass(frozen=True)
class Bursts:
    """Windows in a row that are fuller than the mean and chance together explain.

    Attributes:
        window_s: the finest scale that shows them clearly; lengths are multiples of it.
        count: of bursts.
        share: of all arrivals, inside.
        length_s: the median one's.
        rate_per_s: the median one's mean rate.
        longest_s: the longest one's length.
    """

    window_s: float
    count: int
    share: float
    length_s: float
    rate_per_s: float
    longest_s: float


@dataclass(frozen=True)
class Drift:
    """Slow change of the rate, apart from bursts.

    Attributes:
        rates_per_s: in each tenth of the recording.
        excess: variance of those over the variance that bursts on shorter scales explain.
        is_real: more than that, and large enough to matter.
    """

    rates_per_s: tuple[float, ...]
    excess: float
    is_real: bool


@dataclass(frozen=True)
class Group:
    """Arrivals that come together.

    Attributes:
        within_s: of each other.
        mean_size: of the group that an arrival is in.
        usual_size: in which most arrivals are.
        usual_share: of the arrivals that are in a group of that size.
    """

    within_s: float
    mean_size: float
    usual_size: int
    usual_share: float

    @property
    def is_steady(self) -> bool:
        """Whether most groups are of one size."""
        return self.usual_size > 1 and self.usual_share > 0.5


@dataclass(frozen=True)
class Analysis:
    """What is said of a recording; None: too few arrivals, or too coarse a clock, to tell.

    Attributes:
        arrivals: the recording.
        scales: every time scale that it is long and fine enough for.
        verdict: its kind.
        gaps: None where the clock is coarser than the mean gap.
        group: None where arrivals do not come in groups.
        bursts: None where they are not bursty.
        drift: None where it can't be told from bursts, or there are too few.
    """

    arrivals: Arrivals
    scales: tuple[Scale, ...]
    verdict: Verdict
    gaps: Gaps | None
    group: Group | None
    bursts: Bursts | None
    drift: Drift | None


def analyse(arrivals: Arrivals) -> Analysis:
    """All of it."""
    times_s, resolution_s = arrivals.times_s, arrivals.resolution_s or 1e-9
    found = tuple(scales(times_s, arrivals.duration_s, resolution_s))
    gaps = _gaps(times_s, resolution_s)
    verdict = judge(found, None if gaps is None else gaps.variation)
    return Analysis(
        arrivals,
        found,
        verdict,
        gaps,
        _group(times_s, verdict.together),
        _bursts(times_s, verdict),
        _drift(arrivals, verdict),
    )


def _gaps(times_s: Floats, resolution_s: float) -> Gaps | None:
    gaps_s = np.diff(times_s)
    mean_s = float(gaps_s.mean()) if len(gaps_s) else 0.0
    if mean_s < resolution_s:
        return None
    edges_s = mean_s * _GAP_EDGES
    counts = np.bincount(np.searchsorted(edges_s, gaps_s, "right"), minlength=len(edges_s) + 1)
    longer = np.concatenate([[1.0], np.exp(-_GAP_EDGES), [0.0]])
    return Gaps(
        mean_s,
        float(gaps_s.std() / mean_s),
        tuple(edges_s.tolist()),
        tuple((counts / len(gaps_s)).tolist()),
        tuple((-np.diff(longer)).tolist()),
    )


def _group(times_s: Floats, together: Scale | None) -> Group | None:
    """Sizes of runs of arrivals with gaps shorter than the scale on which groups show."""
    if together is None:
        return None
    starts = np.flatnonzero(np.diff(times_s, prepend=-np.inf) > together.window_s)
    sizes = np.diff(np.append(starts, len(times_s)))
    shares = np.bincount(sizes) * np.arange(sizes.max() + 1) / len(times_s)
    usual = int(shares.argmax())
    mean_size = float(shares @ np.arange(len(shares)))
    return Group(together.window_s, mean_size, usual, float(shares[usual]))


def _bursts(times_s: Floats, verdict: Verdict) -> Bursts | None:
    """On the finest scale that shows them clearly; windows that are longer blur them."""
    if verdict.kind != "bursty" or verdict.shown_by is None:
        return None
    size = verdict.group_size
    clear = (one for one in verdict.judged if burstiness(one, size) > _CLEARLY)
    scale = next(clear, verdict.shown_by)
    counts = np.bincount((times_s / scale.window_s).astype(np.int64))
    chance = _DEVIATIONS * math.sqrt(scale.mean * size)
    full = counts > max(BURSTY * scale.mean, scale.mean + chance)
    edges = np.flatnonzero(np.diff(full.astype(np.int8), prepend=0, append=0))
    begins, ends = edges[::2], edges[1::2]
    if len(begins) == 0:
        return None
    sums = np.concatenate([[0], np.cumsum(counts)])
    inside, lengths_s = sums[ends] - sums[begins], (ends - begins) * scale.window_s
    return Bursts(
        scale.window_s,
        len(begins),
        float(inside.sum() / len(times_s)),
        float(np.median(lengths_s)),
        float(np.median(inside / lengths_s)),
        float(lengths_s.max()),
    )


def _drift(arrivals: Arrivals, verdict: Verdict) -> Drift | None:
    """Counts of tenths against the local dispersion of the coarsest scale, without the drift."""
    judged = verdict.judged
    if len(arrivals.times_s) < MIN_ARRIVALS or len(judged) < 2:
        return None
    if verdict.kind == "bursty" and judged[-1].local > _GROWING * judged[-2].local:
        return None
    block_s = arrivals.duration_s / BLOCKS
    counts = np.bincount((arrivals.times_s / block_s).astype(np.int64), minlength=BLOCKS)[:BLOCKS]
    expected = max(verdict.group_size, judged[-1].local)
    excess = float(counts.var(ddof=1) / counts.mean() / expected)
    is_real = excess > DRIFT and counts.max() > MIN_DRIFT * counts.min()
    return Drift(tuple((counts / block_s).tolist()), excess, bool(is_real))

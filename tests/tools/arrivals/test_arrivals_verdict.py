"""The kind of arrivals is named rightly, for each kind, over rates, numbers and clocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tests.tools.arrivals.kinds import (
    GROUP,
    POISSON,
    UNIFORM,
    Made,
    bursty,
    grouped,
    jittered,
    local_dispersion,
    many,
    plain,
    stamped,
)
from tools.arrivals import dispersion
from tools.arrivals.analysis import analyse
from tools.arrivals.dispersion import scales
from tools.arrivals.verdict import judge
from tools.load.arrivals import Bursty, Pattern, Poisson
from tools.load.arrivals_file import Arrivals

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator], Made | None]


def misnamed(kind: str, draw: Draw, count: int = 50) -> list[str]:
    """Which of so many are called otherwise, or groups."""
    judged = [(name, analyse(arrivals)) for name, arrivals in many(draw, count)]
    return [
        f"{name}: {analysis.verdict.kind}, {analysis.group}"
        for name, analysis in judged
        if analysis.verdict.kind != kind or analysis.group is not None
    ]


@pytest.mark.parametrize(
    ("kind", "draw"),
    [
        ("uniform", plain(UNIFORM)),
        ("uniform", jittered),
        ("poisson-like", plain(POISSON)),
        ("bursty", bursty),
    ],
    ids=["uniform", "jittered", "poisson", "bursty"],
)
def test_the_right_kind_is_named_fifty_times(kind: str, draw: Draw) -> None:
    assert misnamed(kind, draw) == []


def test_a_kind_that_is_another_is_misnamed_every_time() -> None:
    assert len(misnamed("uniform", plain(POISSON), 10)) == 10
    assert len(misnamed("poisson-like", bursty, 10)) == 10
    assert len(misnamed("bursty", grouped(POISSON), 10)) == 10


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [("uniform", UNIFORM), ("poisson-like", POISSON)],
    ids=["uniform", "poisson"],
)
def test_groups_are_named_fifty_times_and_how_they_come(kind: str, pattern: Pattern) -> None:
    """A hundred groups are needed for the latter."""
    for name, arrivals in many(grouped(pattern), 50):
        analysis = analyse(arrivals)
        group, count = analysis.group, len(arrivals.times_s) / GROUP
        assert group is not None, name
        # Groups that come within a millisecond of each other count as one: at 250 groups/s many.
        assert group.usual_size == GROUP or count < 80, name
        assert 0.9 * GROUP < group.mean_size < 2.5 * GROUP, name
        kinds = {kind} if count > 150 else {kind, "too-few"} if count > 80 else {"too-few"}
        assert analysis.verdict.kind in kinds, name


def test_bursts_of_groups_are_both() -> None:
    starts_s = Bursty(cycle_s=2.0).times_s(50.0, 400.0, np.random.default_rng(0))
    analysis = analyse(stamped(np.repeat(starts_s, 4), 1e-9))
    assert analysis.group is not None
    assert (analysis.group.usual_size, analysis.verdict.kind) == (4, "bursty")


def test_groups_within_some_milliseconds_are_groups() -> None:
    random = np.random.default_rng(0)
    starts_s = Poisson().times_s(10.0, 300.0, random)
    spread_s = random.uniform(0, 0.004, (len(starts_s), 8))
    analysis = analyse(stamped(np.sort((starts_s[:, None] + spread_s).ravel()), 1e-3))
    assert analysis.group is not None
    assert analysis.group.usual_size == 8
    assert 0.002 <= analysis.group.within_s <= 0.01
    assert analysis.verdict.kind == "poisson-like"


@pytest.mark.parametrize("count", [2, 20, 99])
def test_too_few_are_called_so(count: int) -> None:
    times_s = Poisson().times_s(10.0, 30.0, np.random.default_rng(0))[:count]
    analysis = analyse(stamped(times_s, 1e-9))
    assert (analysis.verdict.kind, analysis.verdict.shown_by) == ("too-few", None)
    assert (analysis.bursts, analysis.drift) == (None, None)


def test_a_clock_too_coarse_for_the_recording_is_too_few() -> None:
    times_s = Poisson().times_s(100.0, 15.0, np.random.default_rng(0))
    assert analyse(stamped(times_s, 1.0)).verdict.kind == "too-few"


def test_stamps_of_whole_seconds_tell_of_whole_seconds() -> None:
    for pattern, kind in ((Poisson(), "poisson-like"), (Bursty(cycle_s=20.0), "bursty")):
        times_s = pattern.times_s(20.0, 1000.0, np.random.default_rng(1))
        analysis = analyse(stamped(times_s, 1.0))
        assert (analysis.verdict.kind, analysis.gaps) == (kind, None)
        assert analysis.verdict.judged[0].window_s == 1.0


def changing(rate: Callable[[Floats], Floats], seed: int) -> Arrivals:
    """About 20,000 Poisson arrivals in 1,000 s, with a rate that changes."""
    grid = np.linspace(0, 1, 1001)
    integral = np.cumsum(rate(grid))
    times_s = Poisson().times_s(20.0, 1000.0, np.random.default_rng(seed))
    return stamped(np.interp(times_s / 1000, integral / integral[-1], 1000 * grid), 1e-9)


@pytest.mark.parametrize(
    "rate",
    [lambda at: 0.2 + at, lambda at: 1 + 0.8 * np.sin(6.28 * at), lambda at: 1.0 + (at > 0.6)],
    ids=["ramp", "day", "step"],
)
def test_a_slow_change_of_the_rate_is_drift_and_not_bursts(
    rate: Callable[[Floats], Floats],
) -> None:
    for seed in range(10):
        analysis = analyse(changing(rate, seed))
        assert analysis.verdict.kind == "poisson-like"
        assert analysis.drift is not None
        assert analysis.drift.is_real


@pytest.mark.parametrize("pattern", [UNIFORM, POISSON, Bursty()], ids=lambda one: one.name)
def test_what_does_not_change_slowly_has_no_drift(pattern: Pattern) -> None:
    for seed in range(20):
        times_s = pattern.times_s(20.0, 1000.0, np.random.default_rng(seed))
        drift = analyse(stamped(times_s, 1e-9)).drift
        assert drift is None or not drift.is_real


def test_the_bursts_are_those_that_were_made() -> None:
    """Two seconds apart, each half a second at 16 times the rate between them."""
    random = np.random.default_rng(0)
    background_s = Poisson().times_s(20.0, 100.0, random)
    starts_s = np.arange(5.0, 95.0, 2.0)
    inside_s = [start_s + Poisson().times_s(300.0, 0.5, random) for start_s in starts_s]
    times_s = np.sort(np.concatenate([background_s, *inside_s]))
    bursts = analyse(stamped(times_s, 1e-9)).bursts
    assert bursts is not None
    assert bursts.count == len(starts_s)
    # Whole windows of 0.1 or 0.2 s: up to two more than the burst fills.
    assert 0.4 <= bursts.length_s <= 0.5 + 2 * bursts.window_s
    assert 0.7 * 320 < bursts.rate_per_s < 1.1 * 320
    assert bursts.share == pytest.approx(sum(map(len, inside_s)) / len(times_s), abs=0.1)


@pytest.mark.parametrize("of", [Bursty(), Bursty(2.0, 0.5, 0.3)], ids=lambda one: one.name)
def test_the_local_dispersion_is_that_of_theory(of: Bursty) -> None:
    times_s = of.times_s(100.0, 4000.0, np.random.default_rng(0))
    for one in scales(times_s, 4000.0, 1e-9):
        if one.windows > 1000:  # sums of bursts are skewed: within 20%, 4 deviations of 1,000
            expected = local_dispersion(of, 100.0, one.window_s)
            assert one.local == pytest.approx(expected, rel=0.2)
            expected = of.dispersion(100.0, one.window_s)
            assert one.dispersion == pytest.approx(expected, rel=0.2)


def test_counts_agree_with_windows_that_are_counted_one_by_one() -> None:
    times_s = Bursty().times_s(30.0, 60.0, np.random.default_rng(3))
    times_s -= times_s[0]
    for one in scales(times_s, 60.0, 1e-9):
        edges_s = one.window_s * (0.5 + np.arange(one.windows + 1))
        counts, _ = np.histogram(times_s, edges_s)
        assert one.mean == pytest.approx(counts.mean())
        assert one.dispersion == pytest.approx(counts.var() / counts.mean())
        assert one.local == pytest.approx(np.square(np.diff(counts, 2)).mean() / 6 / counts.mean())
        assert one.peak_to_mean == pytest.approx(counts.max() / counts.mean())


def test_chance_is_as_likely_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 2 standard deviations about 4.6% of Poisson arrivals lie outside; of 400, 2% to 8%."""
    monkeypatch.setattr(dispersion, "CHANCE", 2.0)
    outside, looked_at = 0, 0
    for seed in range(100):
        times_s = Poisson().times_s(50.0, 100.0, np.random.default_rng(seed))
        for one in scales(times_s, 100.0, 1e-3):
            if one.mean >= 1:
                low, high = one.chance()
                outside += not low <= one.local <= high
                looked_at += 1
    assert 0.02 < outside / looked_at < 0.08


def test_no_scale_at_all_is_too_few() -> None:
    assert judge([], None).kind == "too-few"

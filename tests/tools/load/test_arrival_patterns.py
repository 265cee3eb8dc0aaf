"""Generated arrivals have the mean, the variance and the dispersion that their formulas say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from ensemble.errors import ContractMismatch
from tools.load import arrivals_file
from tools.load.arrivals import Bursty, Constant, Pattern, Poisson, Recorded, pattern
from tools.load.arrivals_file import MAX_ARRIVALS, Arrivals

Floats = npt.NDArray[np.float64]
RATE_PER_S = 200.0
DURATION_S = 2000.0
BURSTS = (
    Bursty(),
    Bursty(factor=2.0, on=0.5, cycle_s=0.2),
    Bursty(factor=10.0, on=0.1, cycle_s=0.5),
)
WINDOWS_S = (0.01, 0.1, 1.0, 10.0)


def faults(times_s: Floats, dispersion: Bursty | None) -> list[str]:
    """Where counts of these arrivals differ from theory by more than chance explains.

    The mean may differ by 5 of its own standard deviations. The dispersion of w windows may differ
    by 5 of sqrt(2/w), its deviation for normal counts; sums of bursts are skewed, so by twice that.
    """
    found = []
    expected = RATE_PER_S * DURATION_S
    limit = 1.0 if dispersion is None else dispersion.dispersion(RATE_PER_S, DURATION_S)
    if abs(len(times_s) - expected) > 5 * math.sqrt(expected * limit):
        found.append(f"mean: {len(times_s)} for {expected:g}")
    for window_s in WINDOWS_S:
        windows = round(DURATION_S / window_s)
        counts = np.bincount((times_s / window_s).astype(np.int64), minlength=windows)
        want = 1.0 if dispersion is None else dispersion.dispersion(RATE_PER_S, window_s)
        got = counts.var() / counts.mean()
        allowed = (5 if dispersion is None else 10) * math.sqrt(2 / windows)
        if abs(got / want - 1) > allowed:
            found.append(f"dispersion of {window_s:g} s: {got:.3g} for {want:.3g} ± {allowed:.0%}")
    return found


@pytest.mark.parametrize("seed", range(3))
def test_poisson_arrivals_have_the_stated_mean_and_dispersion(seed: int) -> None:
    times_s = Poisson().times_s(RATE_PER_S, DURATION_S, np.random.default_rng(seed))
    assert faults(times_s, None) == []
    gaps_s = np.diff(times_s)
    assert gaps_s.std() / gaps_s.mean() == pytest.approx(1.0, abs=0.01)  # 6 deviations of 1/sqrt(n)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bursty", BURSTS, ids=lambda one: one.name)
def test_bursty_arrivals_have_the_stated_mean_and_dispersion(bursty: Bursty, seed: int) -> None:
    times_s = bursty.times_s(RATE_PER_S, DURATION_S, np.random.default_rng(seed))
    assert faults(times_s, bursty) == []


def test_gaps_that_are_cut_short_are_found() -> None:
    """What a peer's generator does: no gap above three times the mean, so the rate is too high."""
    gaps_s = np.random.default_rng(0).exponential(1 / RATE_PER_S, 500_000)
    whole_s = np.cumsum(gaps_s)
    assert faults(whole_s[whole_s < DURATION_S], None) == []
    cut_s = np.cumsum(np.minimum(gaps_s, 3 / RATE_PER_S))
    found = faults(cut_s[cut_s < DURATION_S], None)
    assert [text.split(":")[0] for text in found[:2]] == ["mean", "dispersion of 0.01 s"]


@pytest.mark.parametrize("wrong", [Bursty(factor=3.0), Bursty(on=0.1), Bursty(cycle_s=2.0)])
def test_bursts_of_another_shape_are_found(wrong: Bursty) -> None:
    times_s = wrong.times_s(RATE_PER_S, DURATION_S, np.random.default_rng(0))
    assert faults(times_s, Bursty())


def test_bursts_start_in_the_stationary_state() -> None:
    """The first tenth of a cycle has the mean rate, over 4,000 starts."""
    bursty, random = Bursty(factor=5.0), np.random.default_rng(1)
    counts = [len(bursty.times_s(RATE_PER_S, 0.1, random)) for _ in range(4000)]
    deviation = math.sqrt(20 * bursty.dispersion(RATE_PER_S, 0.1) / 4000)
    assert np.mean(counts) == pytest.approx(20, abs=4 * deviation)


def test_a_burst_factor_is_the_rate_while_on_over_the_mean_rate() -> None:
    """With nothing while off, all arrivals of a long stay share its rate."""
    bursty = Bursty(factor=5.0, on=0.2, cycle_s=1000.0)
    times_s = bursty.times_s(20.0, 100_000.0, np.random.default_rng(2))
    assert bursty.factor_off == 0.0
    # The median gap of a Poisson process of 100/s is ln 2 / 100; of 100,000 gaps, within 2%.
    assert np.median(np.diff(times_s)) == pytest.approx(math.log(2) / 100, rel=0.02)


def test_constant_arrivals_are_evenly_spaced_from_zero() -> None:
    times_s = Constant().times_s(8.0, 1.0, np.random.default_rng(0))
    np.testing.assert_array_equal(times_s, np.arange(8) / 8)
    assert len(Constant().times_s(0.3, 10.0, np.random.default_rng(0))) == 3


@pytest.mark.parametrize("of", [Constant(), Poisson(), *BURSTS], ids=lambda one: one.name)
def test_arrivals_are_ascending_within_the_time_and_repeatable(of: Pattern) -> None:
    times_s, again_s = (of.times_s(50.0, 20.0, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(times_s, again_s)
    assert times_s.dtype == np.float64
    assert (np.diff(times_s) >= 0).all()
    assert 0 <= times_s[0] <= times_s[-1] < 20


def test_too_short_a_time_has_no_arrival() -> None:
    for of in (Poisson(), Bursty()):
        assert len(of.times_s(1e-9, 1e-3, np.random.default_rng(0))) == 0


@pytest.mark.parametrize("text", ["constant", "poisson", *(one.name for one in BURSTS)])
def test_a_pattern_is_had_back_by_its_name(text: str) -> None:
    assert pattern(text).name == text


def test_what_is_not_said_of_bursts_has_a_default() -> None:
    assert pattern("bursty") == Bursty()
    assert pattern("bursty:on=0.1") == Bursty(on=0.1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected constant, poisson, bursty"),
        ("Poisson", "No such file"),
        ("gamma:2", "No such file"),
        ("no\0file", "null"),
        ("bursty:factor", "expected factor=NUMBER, on=NUMBER, cycle-s=NUMBER, got factor"),
        ("bursty:rate=3", "got rate=3"),
        ("bursty:factor=6", "expected factor of 1 to 1/on = 5, got 6"),
        ("bursty:factor=0.5", "expected factor of 1"),
        ("bursty:factor=nan", "got nan"),
        ("bursty:on=1", "expected on above 0 and below 1"),
        ("bursty:cycle-s=0", "expected cycle-s above 0"),
        ("bursty:cycle-s=inf", "got inf"),
    ],
)
def test_what_is_no_pattern_is_refused(text: str, words: str) -> None:
    with pytest.raises(ContractMismatch, match=words):
        pattern(text)


@pytest.mark.parametrize("of", [Constant(), Poisson(), Bursty()], ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("rate_per_s", "duration_s"),
    [(None, 1), (0, 1), (-1, 1), (math.nan, 1), (math.inf, 1), (1, 0), (1, math.nan), (1e9, 1e9)],
)
def test_a_wrong_rate_or_time_is_refused(
    of: Pattern, rate_per_s: float | None, duration_s: float
) -> None:
    with pytest.raises(ContractMismatch, match="expected"):
        of.times_s(rate_per_s, duration_s, np.random.default_rng(0))


def recorded(tmp_path: Path) -> Pattern:
    path = tmp_path / "mine.json"
    arrivals_file.write(Arrivals(np.array([0.0, 0.5, 0.75, 3.0]), 4.0), path)
    return pattern(str(path))


@pytest.mark.parametrize(
    ("rate_per_s", "duration_s", "times_s", "remark"),
    [
        (None, 4.0, [0, 0.5, 0.75, 3], None),
        (None, 2.0, [0, 0.5, 0.75], "4 s, its first 50%"),
        (None, 8.0, [0, 0.5, 0.75, 3, 4, 4.5, 4.75, 7], "4 s, 2.0 times in a row"),
        (2.0, 2.0, [0, 0.25, 0.375, 1.5], "4 s, played at 2 times its speed"),
        (0.5, 4.0, [0, 1, 1.5], "4 s, played at 0.5 times its speed, its first 50%"),
    ],
)
def test_a_recording_is_played_faster_again_or_in_part_and_says_so(
    tmp_path: Path,
    rate_per_s: float | None,
    duration_s: float,
    times_s: list[float],
    remark: str | None,
) -> None:
    of = recorded(tmp_path)
    assert of.name == "mine.json"
    got = of.times_s(rate_per_s, duration_s, np.random.default_rng(0))
    np.testing.assert_allclose(got, times_s)
    said = of.remark(rate_per_s, duration_s)
    assert said == (None if remark is None else f"mine.json: {remark}")


def test_what_is_drawn_has_no_remark() -> None:
    assert Poisson().remark(1.0, 1.0) is None


def test_a_recording_is_not_repeated_beyond_memory() -> None:
    of = Recorded(Arrivals(np.zeros(1), 1e-6), "dense")
    with pytest.raises(ContractMismatch, match=f"expected at most {MAX_ARRIVALS} arrivals"):
        of.times_s(None, 1e3, np.random.default_rng(0))

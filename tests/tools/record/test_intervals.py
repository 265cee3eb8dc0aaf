"""Intervals over rounds: Student's t as in the tables, and as many hits as they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tools.record.intervals import Estimate, average, estimate, t_beyond, t_quantile


@pytest.mark.parametrize(
    ("level", "freedom", "expected"),
    # Any table of Student's t, two-sided.
    [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 6, 2.447), (0.99, 9, 3.250), (0.999, 30, 3.646)],
)
def test_quantiles_of_t_are_those_of_the_tables(
    level: float, freedom: int, expected: float
) -> None:
    assert t_quantile(level, freedom) == pytest.approx(expected, abs=6e-4)  # the tables' digits
    assert t_beyond(np.array([expected, -expected]), freedom) == pytest.approx(1 - level, abs=1e-4)


def test_an_interval_by_hand() -> None:
    # Logarithms 1, 2, 3: mean 2, standard deviation 1, t of two degrees of freedom 4.303.
    half = 4.302653 / math.sqrt(3)
    got = estimate([math.exp(power) for power in (1.0, 2.0, 3.0)])
    assert got is not None
    expected = [math.exp(2 + side * half) for side in (0, -1, 1)]
    assert [got.value, got.low, got.high] == pytest.approx(expected, rel=1e-5)


def test_where_a_round_has_zero_the_mean_is_the_plain_one_and_no_end_is_below_zero() -> None:
    got = estimate([0.0, 1.0, 2.0])
    assert got == average([0.0, 1.0, 2.0])
    assert got == Estimate(1.0, 0.0, pytest.approx(1 + 4.302653 / math.sqrt(3), rel=1e-5))


def test_fewer_than_three_rounds_have_no_interval() -> None:
    assert estimate([4.0, 9.0]) == Estimate(pytest.approx(6.0))
    assert estimate([4.0]) == Estimate(pytest.approx(4.0))


@pytest.mark.parametrize("values", [[], [1.0, math.inf, 1.0], [math.nan]])
def test_what_is_not_known_has_no_estimate(values: list[float]) -> None:
    assert estimate(values) is None
    assert average(values) is None


@pytest.mark.parametrize("rounds", [3, 7])
def test_the_interval_holds_the_truth_as_often_as_it_says(rounds: int) -> None:
    random = np.random.default_rng(rounds)
    drawn = np.exp(random.normal(math.log(50), 0.05, (2000, rounds)))
    found = [estimate(values) for values in drawn]
    hits = sum(one.low <= 50 <= one.high for one in found if one and one.low and one.high)
    # Binomial with 2000 trials: a standard deviation of 0.5 points; four of them.
    assert hits / 2000 == pytest.approx(0.95, abs=0.02)


def test_requests_taken_as_independent_would_promise_too_much() -> None:
    """The red case: rounds differ, so thousands of requests know less than they seem to."""
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        rounds = random.normal(0, 0.05, 7)
        requests = (rounds[:, None] + random.normal(0, 0.2, (7, 500))).ravel()
        half = 1.96 * requests.std() / math.sqrt(len(requests))
        hits += bool(abs(requests.mean()) <= half)
    assert hits < 0.6 * 200

"""The order of the cells favours no side, and all sides of a round meet the same load."""

from __future__ import annotations

from collections import Counter

import pytest

from tools.bench.plan import Plan, Side, turned
from tools.record.record import Load

LOADS = (Load("closed", 1), Load("closed", 8), Load("open", 50, "poisson"))
SIDES = (Side("a", "grpc"), Side("b", "grpc"))
PLAN = Plan(LOADS, SIDES, rounds=4, duration_s=4.0, seed=7)


def test_a_round_has_every_cell_once() -> None:
    for number in range(4):
        cells = [(step.side, step.load) for step in PLAN.steps(number)]
        assert Counter(cells) == Counter((side, load) for side in SIDES for load in LOADS)


def test_all_sides_of_a_round_have_the_same_schedule_and_rounds_and_loads_another() -> None:
    steps = [step for number in range(4) for step in PLAN.steps(number)]
    seeds = {(step.round, step.load): (step.arrivals_seed, step.mix_seed) for step in steps}
    assert all(
        seeds[step.round, step.load] == (step.arrivals_seed, step.mix_seed) for step in steps
    )
    assert len(set(seeds.values())) == 4 * len(LOADS)


def test_classes_are_not_drawn_from_the_numbers_that_made_the_arrivals() -> None:
    assert all(step.arrivals_seed != step.mix_seed for step in PLAN.steps(0))


def test_another_seed_is_another_schedule() -> None:
    other = Plan(LOADS, SIDES, 4, 4.0, seed=8)
    assert next(PLAN.steps(0)).arrivals_seed != next(other.steps(0)).arrivals_seed


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_each_side_comes_at_each_place_equally_often(count: int) -> None:
    sides = tuple(Side(name, "grpc") for name in "abcde"[:count])
    places = Counter(
        (place, side)
        for number in range(2 * count)
        for place, side in enumerate(turned(sides, number))
    )
    assert set(places.values()) == {2}


def test_two_sides_do_not_simply_alternate() -> None:
    firsts = [turned(SIDES, number)[0].target for number in range(8)]
    assert "".join(firsts) == "abbaabba"


def test_loads_go_up_and_then_down() -> None:
    up, down = ([step.load for step in PLAN.steps(number)][::2] for number in (0, 1))
    assert up == list(LOADS)
    assert down == up[::-1]

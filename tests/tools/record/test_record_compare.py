"""The comparison of targets in whole records: twins, failures, limits, gaps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.fakes.records import BASELINE, CLOSED, INTERACTIVE, OPEN, Noise, Server, record
from tools.record.at_slo import Known, Limit, Point, limit, question, sustained
from tools.record.compare import Comparison, compare
from tools.record.difference import AT_SLO, Difference, judged
from tools.record.record import Cell, Load, Record
from tools.record.samples import OUTCOMES

TWIN = replace(INTERACTIVE, name="twin")
QUIET = Noise(cell=0.01, round=0.02)


def found(of: Comparison, quantity: str, target: str = "interactive") -> list[Difference]:
    """By load, ascending, then over all loads."""
    differences = [*of.at_equal_load, *(one for at in of.at_equal_slo for one in at.differences)]
    return [one for one in differences if (one.quantity, one.target) == (quantity, target)]


def winners(of: Record) -> set[str]:
    compared = compare(of)
    both = [
        *compared.at_equal_load,
        *(one for at in compared.at_equal_slo for one in at.differences),
    ]
    return {one.winner for one in both if one.winner}


def changed(of: Record, **fields: object) -> Record:
    """With these in cells of round 0 of the first target."""
    first = of.targets[0].name
    cells = tuple(
        replace(cell, **fields) if (cell.round, cell.target) == (0, first) else cell  # type: ignore[arg-type]
        for cell in of.cells
    )
    return replace(of, cells=cells)


@pytest.mark.parametrize("loads", [CLOSED, OPEN], ids=["closed", "open"])
def test_twins_never_get_a_winner_in_20_repeats(loads: tuple[Load, ...]) -> None:
    noise = Noise(cell=0.04, round=0.04, spikes=0.03)
    for seed in range(20):
        random = np.random.default_rng(seed)
        twins = record((INTERACTIVE, TWIN), loads, random=random, noise=noise, duration_s=2.0)
        assert winners(twins) == set(), seed


def test_of_two_that_differ_the_better_one_wins_at_each_load_where_it_is() -> None:
    compared = compare(record(noise=QUIET))
    alone, *busy, overall = found(compared, "p95_ms")
    assert alone.winner is None  # one caller makes no batches
    assert [one.winner for one in busy] == ["interactive"] * 3
    assert overall.winner == "interactive"
    # By the server's formula 4 callers wait 12 ms for each two of them, or 10 for each one.
    (_, four, *_) = found(compared, "throughput_per_s")
    assert four.ratio is not None
    assert four.ratio.value == pytest.approx((2 / 12) / (1 / 10), rel=0.03)  # 4 standard errors
    assert four.winner == "interactive"
    assert [one.winner for one in found(compared, "p50_ms")] == [None] * 4


def test_who_comes_first_changes_the_ratio_and_not_the_winner() -> None:
    given = record(noise=QUIET)
    back = replace(given, targets=given.targets[::-1])
    for one, other in zip(
        found(compare(given), "p95_ms"), found(compare(back), "p95_ms", "baseline"), strict=True
    ):
        assert one.winner == other.winner
        assert one.ratio is not None
        assert other.ratio is not None
        assert one.ratio.value == pytest.approx(1 / other.ratio.value)
        assert one.ratio.low == pytest.approx(1 / other.ratio.high)  # type: ignore[operator]
        assert one.detectable == pytest.approx(other.detectable)


def test_what_could_have_been_seen_is_said_with_every_judgement() -> None:
    compared = compare(record((INTERACTIVE, TWIN), noise=QUIET))
    for quantity in ("p95_ms", "throughput_per_s", AT_SLO):
        for one in found(compared, quantity, "twin"):
            assert one.detectable is not None
            assert 0.02 < one.detectable < 0.3
    assert {one.detectable for one in found(compared, "p99_ms", "twin")} == {None}


@pytest.mark.parametrize("loads", [CLOSED, OPEN], ids=["closed", "open"])
def test_a_target_that_refuses_half_does_not_look_fast(loads: tuple[Load, ...]) -> None:
    """Its answers alone do, which is the red case."""
    refusing = Server("refusing", base_ms=4.0, image_ms=1.0, refused=0.5)
    compared = compare(record((INTERACTIVE, refusing), loads, noise=QUIET))
    for one in found(compared, "p95_ms", "refusing")[: len(loads)]:
        assert one.ratio is None
        assert one.winner == "interactive"
        assert one.reason is not None
        assert "% of refusing's and 0.0% of interactive's" in one.reason
    ((slo,),) = [at.differences for at in compared.at_equal_slo]
    assert slo.winner == "interactive"


def test_rare_failures_count_as_late_requests() -> None:
    """Of 100 requests the p95 is that of rank 96, which three failures move on by three."""
    cell = record((INTERACTIVE,), OPEN[:1], 1).cells[0]
    latency_s = np.arange(1.0, 101) / 1e3
    columns = {"due_s": np.zeros(100), "late_s": np.zeros(100), "kind": np.zeros(100, np.int64)}
    outcome = np.zeros(100, np.int64)
    outcome[:3] = OUTCOMES.index("timed_out")
    failing = replace(cell.samples, latency_s=latency_s, outcome=outcome, **columns)
    whole = replace(failing, outcome=np.zeros(100, np.int64))
    cells = [
        replace(cell, round=number, target=target, samples=of)
        for number in range(3)
        for target, of in (("a", whole), ("b", failing))
    ]
    targets = record((Server("a"), Server("b")), rounds=0).targets
    both = replace(record(rounds=0), targets=targets, cells=tuple(cells))
    (one, *_) = compare(both).at_equal_load
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(99 / 96)


def test_twins_that_fail_around_five_percent_get_no_winner() -> None:
    """Their p95 is infinite in some rounds and not in others."""
    shaky = replace(INTERACTIVE, refused=0.05)
    for seed in range(20):
        random = np.random.default_rng(seed)
        twins = record(
            (shaky, replace(shaky, name="twin")), rounds=3, random=random, duration_s=2.0
        )
        assert winners(twins) == set(), seed


def test_two_that_answer_nothing_have_no_winner_and_no_ratio() -> None:
    dead = replace(INTERACTIVE, refused=1.0)
    compared = compare(record((dead, replace(dead, name="twin")), rounds=3))
    for one in (*found(compared, "p95_ms", "twin"), *found(compared, "throughput_per_s", "twin")):
        assert (one.ratio, one.winner) == (None, None)
        assert one.reason


@pytest.mark.parametrize(
    ("rounds", "interval", "judged"), [(1, False, False), (2, False, False), (3, True, True)]
)
def test_noise_is_known_from_three_rounds_on(rounds: int, interval: bool, judged: bool) -> None:
    one = found(compare(record(rounds=rounds)), "p95_ms")[1]
    assert one.ratio is not None
    assert (one.ratio.low is not None) is interval
    assert (one.detectable is not None) is judged
    assert one.rounds == rounds


def test_only_rounds_in_which_both_count_are_compared() -> None:
    given = changed(record(noise=QUIET), unused="the schedule was not kept")
    compared = compare(given)
    assert {one.rounds for one in compared.at_equal_load} == {6}
    assert {one.rounds for at in compared.at_equal_slo for one in at.differences} == {6}


def test_a_load_that_one_of_them_never_kept_is_left_out_with_its_reason() -> None:
    given = record(noise=QUIET)
    cells = tuple(
        replace(cell, unused="late")
        if (cell.target, cell.load) == ("baseline", CLOSED[3])
        else cell
        for cell in given.cells
    )
    *loads, overall = found(compare(replace(given, cells=cells)), "p95_ms")
    assert (loads[3].ratio, loads[3].reason) == (None, "no round in which both count")
    assert (overall.rounds, overall.winner) == (7, "interactive")


def test_too_few_requests_for_a_quantile_are_said() -> None:
    compared = compare(record(loads=OPEN, duration_s=3.0))
    few = found(compared, "p99_ms")[0]
    assert (few.ratio, few.reason) == (None, "a round has too few requests for p99")
    assert found(compared, "p95_ms")[0].ratio is not None


def test_a_record_without_pairs_has_no_differences() -> None:
    assert compare(record(cells=())).at_equal_load == ()
    assert compare(record(targets=())).at_equal_load == ()
    assert compare(record((BASELINE,))).at_equal_load == ()
    alone = record()
    second = tuple(cell for cell in alone.cells if cell.target == "interactive")
    assert compare(replace(alone, cells=second)).at_equal_load == ()


def test_protocols_and_kinds_of_load_are_compared_each_by_itself() -> None:
    given = record(
        (BASELINE, INTERACTIVE, replace(INTERACTIVE, name="third")),
        (*CLOSED[:2], *OPEN[:2]),
        rounds=3,
        duration_s=2.0,
        protocols=("grpc", "http"),
    )
    p95 = [one for one in compare(given).at_equal_load if one.quantity == "p95_ms"]
    # Two targets against the first, two protocols, two curves; two loads and all of them.
    assert len(p95) == 2 * 2 * 2 * 3
    assert {one.against for one in p95} == {"baseline"}
    assert [(at.protocol, at.kind) for at in compare(given).at_equal_slo] == [
        ("grpc", "closed"),
        ("grpc", "open"),
        ("http", "closed"),
        ("http", "open"),
    ]


SLO_MS = 50.0


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        # Half way between the logarithms of 25 and 100 ms.
        ([(25, 100), (100, 140)], Limit(120.0, Known.EXACTLY)),
        ([(50, 100), (100, 140)], Limit(100.0, Known.EXACTLY)),
        ([(10, 100), (25, 200), (100, 160)], Limit(200.0, Known.EXACTLY)),  # falls when saturated
        ([(25, 100), (math.inf, 140)], Limit(100.0, Known.EXACTLY)),  # there too many fail
        ([(0, 100), (100, 140)], Limit(100.0, Known.EXACTLY)),
        ([(10, 100), (40, 190)], Limit(190.0, Known.AT_LEAST)),
        ([(60, 100), (90, 120)], Limit(100.0, Known.AT_MOST)),
        ([(60, 100), (25, 150), (100, 190)], Limit(170.0, Known.EXACTLY)),  # a slow first cell
    ],
)
def test_the_limit_of_one_round_by_hand(curve: list[tuple[float, float]], expected: Limit) -> None:
    got = limit([Point(*point) for point in curve], SLO_MS)
    assert got.known is expected.known
    assert got.throughput_per_s == pytest.approx(expected.throughput_per_s)


@pytest.mark.parametrize(
    ("known", "bound", "has_value"),
    [
        ([Known.EXACTLY] * 3, None, True),
        ([Known.EXACTLY, Known.AT_LEAST], "at least", True),
        ([Known.EXACTLY, Known.AT_MOST], "at most", True),
        ([Known.AT_MOST] * 3, "none", False),
        ([Known.AT_LEAST, Known.AT_MOST], None, False),
        ([], None, False),
    ],
)
def test_a_limit_that_was_not_reached_is_said_to_be_a_bound(
    known: list[Known], bound: str | None, has_value: bool
) -> None:
    got = sustained("a", {n: Limit(100.0, one) for n, one in enumerate(known)})
    assert (got.bound, got.throughput_per_s is not None) == (bound, has_value)


def test_the_limit_is_that_of_the_servers_formula() -> None:
    """One at a time: p95 passes 50 ms between 1 and 4 callers, at 100 images a second."""
    (at,) = compare(record(noise=QUIET)).at_equal_slo
    baseline, interactive = at.sustained
    assert (baseline.bound, interactive.bound) == (None, None)
    assert baseline.throughput_per_s is not None
    assert baseline.throughput_per_s.value == pytest.approx(100, rel=0.03)
    (one,) = at.differences
    assert (one.winner, one.bound) == ("interactive", None)


def test_a_winner_that_no_load_brought_to_its_limit_wins_by_at_least_so_much() -> None:
    (at,) = compare(record(loads=CLOSED[:3], slo_p95_ms=100.0, noise=QUIET)).at_equal_slo
    assert [one.bound for one in at.sustained] == [None, "at least"]
    (one,) = at.differences
    assert (one.winner, one.bound, one.detectable) == ("interactive", "at least", None)


@pytest.mark.parametrize(
    ("slo_ms", "reason"),
    [
        (1e6, "both are within the SLO at every load tried"),
        (1.0, "both are outside the SLO already at the least load"),
    ],
)
def test_where_neither_limit_was_reached_there_is_no_ratio(slo_ms: float, reason: str) -> None:
    (at,) = compare(record(slo_p95_ms=slo_ms)).at_equal_slo
    (one,) = at.differences
    assert (one.ratio, one.winner, one.reason) == (None, None, reason)


def test_without_an_slo_nothing_is_asked_of_it() -> None:
    assert compare(record(slo_p95_ms=None)).at_equal_slo == ()


def test_an_upper_bound_is_no_ground_for_a_winner() -> None:
    """The target serves at most 1.5 times as much: it may serve less."""
    limits = {n: Limit(150.0 + n, Known.AT_MOST) for n in range(5)}
    first = {n: Limit(100.0, Known.EXACTLY) for n in range(5)}
    empty = Difference(AT_SLO, None, "grpc", "closed", None, "a", "b", 0)
    (upper,) = judged([question(empty, limits, first)])
    assert (upper.bound, upper.winner) == ("at most", None)
    exact = {n: one._replace(known=Known.EXACTLY) for n, one in limits.items()}
    (sure,) = judged([question(empty, exact, first)])
    assert (sure.bound, sure.winner) == (None, "a")


def test_cells_without_requests_are_no_pairs() -> None:
    given = record(rounds=3)
    none: Cell = given.cells[0]
    empty = replace(
        none.samples, **{name: column[:0] for name, column in vars(none.samples).items()}
    )
    cells = tuple(replace(cell, samples=empty) for cell in given.cells)
    compared = compare(replace(given, cells=cells))
    assert {one.reason for one in compared.at_equal_load} == {"no round in which both count"}
    assert {one.bound for at in compared.at_equal_slo for one in at.sustained} == {None}

"""Before the rounds: a request of each kind has to succeed, and every batch size runs once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from ensemble.errors import ContractMismatch, ModelUnavailable
from tests.fakes.odd_server import body
from tests.tools.bench.bench_fakes import FakeEngine, FakeTriton, fake_triton, samples, still_clock
from tools.bench import warm
from tools.bench.classes import classes_of
from tools.bench.targets import Endpoint, Subject, subject_of
from tools.bench.warm import WarmUps, sizes_up_to
from tools.load.generated import Generated
from tools.load.loads import ClosedLoop, Run
from tools.record.record import Load


@pytest.fixture
def triton() -> Iterator[FakeTriton]:
    with fake_triton() as one:
        yield one


def subject(triton: FakeTriton) -> Subject:
    return subject_of(Endpoint("a", triton.odd.url, "grpc-host:1"), "ensemble")


def warm_ups(
    before: Callable[[Run], None] = lambda _: None,
    loads: Sequence[Load] = (Load("closed", 64.0),),
    classes: Sequence[str] = (),
) -> WarmUps:
    mix = classes_of(classes, None, 0)
    return WarmUps(mix, loads, ("grpc", "http"), FakeEngine(before), still_clock())


def runs(of: WarmUps) -> list[Run]:
    assert isinstance(of.engine, FakeEngine)
    return of.engine.runs


def answering(of: WarmUps, outcome: str) -> WarmUps:
    """Every request ends so."""
    of.engine.run = lambda run, tick=None: Generated(samples(1, outcome), 0.0, 0.1)  # type: ignore[method-assign]
    return of


def test_each_class_is_sent_once_over_each_protocol(triton: FakeTriton) -> None:
    one = warm_ups(lambda _: triton.serve(1), classes=["name=x,rows=2", "name=y"])
    one.check(subject(triton))
    assert [(run.protocol, run.mix[0].name, run.mix[0].share) for run in runs(one)] == [
        ("grpc", "x", 1.0),
        ("grpc", "y", 1.0),
        ("http", "x", 1.0),
        ("http", "y", 1.0),
    ]


@pytest.mark.parametrize("outcome", ["network", "unavailable"])
def test_nobody_there_is_told_as_such(triton: FakeTriton, outcome: str) -> None:
    with pytest.raises(ModelUnavailable, match="grpc-host:1"):
        answering(warm_ups(), outcome).check(subject(triton))


def test_a_refused_request_is_told_in_the_words_of_the_server(triton: FakeTriton) -> None:
    triton.odd.pages["/v2/models/ensemble/infer"] = body({"error": "no \x1b[2Jpicture"}, 400)
    with pytest.raises(ContractMismatch, match=r"class all, got invalid_input: no \?\[2Jpicture"):
        answering(warm_ups(), "invalid_input").check(subject(triton))


def test_two_servers_behind_one_name_are_told_apart(triton: FakeTriton) -> None:
    with pytest.raises(ContractMismatch, match="expected one server"):
        warm_ups().check(subject(triton))  # it answers, and nobody counts it


def test_a_server_without_statistics_can_not_be_told_apart(triton: FakeTriton) -> None:
    triton.odd.pages.pop("/v2/models/stats")
    warm_ups().check(subject(triton))


def test_every_size_up_to_the_largest_of_the_model_is_sent(triton: FakeTriton) -> None:
    one = warm_ups()
    found = one.warm_up(subject(triton))
    assert [(size.rows, size.first_ms, size.last_ms) for size in found] == [
        (1, 10.0, 10.0),
        (2, 10.0, 10.0),
        (4, 10.0, 10.0),
        (8, 10.0, 10.0),
    ]
    assert [run.mix[0].rows for run in runs(one)] == [1, 2, 4, 8, 1, 1]
    assert [run.loop for run in runs(one)[-2:]] == [ClosedLoop(64)] * 2  # both protocols
    assert {run.duration_s for run in runs(one)[-2:]} == {warm.TOGETHER_S}


@pytest.mark.parametrize(
    ("loads", "classes", "largest"),
    [
        ([Load("closed", 1.0), Load("closed", 3.0)], [], 3),
        ([Load("closed", 3.0)], ["rows=2"], 6),
        ([Load("closed", 1.0), Load("open", 50.0, "poisson")], [], 8),
    ],
)
def test_sizes_that_no_load_can_reach_are_left_out(
    triton: FakeTriton, loads: list[Load], classes: list[str], largest: int
) -> None:
    assert warm_ups(loads=loads, classes=classes).warm_up(subject(triton))[-1].rows == largest


def test_sizes_that_the_model_refuses_end_the_warm_up(triton: FakeTriton) -> None:
    assert answering(warm_ups(), "invalid_input").warm_up(subject(triton)) == ()


def test_the_warm_up_is_bounded_in_time(
    triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "LIMIT_S", 0.0)
    assert len(warm_ups().warm_up(subject(triton))) <= 1


def test_an_interrupted_warm_up_ends_the_program(triton: FakeTriton) -> None:
    one = warm_ups()
    one.engine.result = Generated(samples(3), 0.1, 0.3, interrupted=True)  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        one.warm_up(subject(triton))


@pytest.mark.parametrize(
    ("largest", "sizes"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])]
)
def test_sizes_double_up_to_the_largest(largest: int, sizes: list[int]) -> None:
    assert list(sizes_up_to(largest)) == sizes

"""What the server counted is held against what the client sent; what can't be is not shown."""

from __future__ import annotations

import pytest

from tools.bench.stages import Sent, counted
from tools.statistics.snapshot import Counters, Model, Size

CLASSIFIER, ENSEMBLE = Model("classifier", "1"), Model("ensemble", "1")
MODELS = ("classifier", "ensemble")
SENT = Sent(requests=100, answered=100, duration_s=4.0)


def counters(requests: int, executions: int | None = None, queue_s: float = 0.0) -> Counters:
    executions = requests if executions is None else executions
    sizes = {1: Size(executions, 0.1 * executions)}
    return Counters(requests, 0, requests, executions, queue_s=queue_s, sizes=sizes)


BEFORE = {CLASSIFIER: counters(50, queue_s=0.1), ENSEMBLE: counters(50)}


def test_a_stage_is_what_was_added_and_the_called_model_comes_last() -> None:
    after = {CLASSIFIER: counters(150, 75, queue_s=0.4), ENSEMBLE: counters(150)}
    found = counted(BEFORE, after, MODELS, SENT)
    assert found.fault is None
    assert [stage.model for stage in found.stages] == ["classifier", "ensemble"]
    stage = found.stages[0]
    assert (stage.requests, stage.executions, stage.queue_s) == (100, 25, 0.3)
    assert stage.sizes == {1: (25, 2.5)}


def test_a_silent_server_has_no_stages_and_no_fault() -> None:
    assert counted({}, {}, (), SENT) == counted({}, {}, (), Sent(0, 0, 1.0))
    assert counted({}, {}, (), SENT).fault is None


@pytest.mark.parametrize(
    "after",
    [
        {CLASSIFIER: counters(30), ENSEMBLE: counters(150)},
        {Model("classifier", "2"): counters(100), ENSEMBLE: counters(150)},
        {ENSEMBLE: counters(150)},
    ],
    ids=["fewer than before", "another version", "unloaded"],
)
def test_counters_that_began_anew_leave_no_stages(after: dict[Model, Counters]) -> None:
    found = counted(BEFORE, after, MODELS, SENT)
    assert found.stages == ()
    assert "classifier was loaded again" in str(found.fault)


@pytest.mark.parametrize(("others", "believed"), [(0, True), (6, True), (7, False), (100, False)])
def test_traffic_of_others_is_told_from_a_probe_now_and_then(others: int, believed: bool) -> None:
    # Tolerated: 2% of the 100 sent and one a second for 4 s, 6 in all.
    after = {CLASSIFIER: counters(150 + others), ENSEMBLE: counters(150 + others)}
    found = counted(BEFORE, after, MODELS, SENT)
    assert (found.fault is None) == believed
    assert bool(found.stages) == believed
    assert believed or f"{others} requests of others" in str(found.fault)


def test_statistics_of_another_server_are_not_taken() -> None:
    found = counted(BEFORE, BEFORE, MODELS, SENT)
    assert "not of one server" in str(found.fault)


def test_requests_that_failed_need_not_be_counted_by_the_server() -> None:
    refused = Sent(requests=100, answered=20, duration_s=4.0)
    after = {CLASSIFIER: counters(70), ENSEMBLE: counters(70)}
    assert counted(BEFORE, after, MODELS, refused).fault is None


def test_of_two_versions_the_one_that_was_called_counts() -> None:
    idle = {Model("classifier", "2"): counters(9)}
    after = {CLASSIFIER: counters(150), ENSEMBLE: counters(150)}
    found = counted(BEFORE | idle, after | idle, MODELS, SENT)
    assert found.stages[0].requests == 100

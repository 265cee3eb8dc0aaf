"""Rows: ensembles with their stages, and figures of a whole ensemble from its stages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.tools.doctor.stages import config, policy, stage
from tools.doctor.stage import Stage
from tools.statistics.configuration import Config
from tools.statistics.counters import Model
from tools.statistics.metrics import Metrics
from tools.top.rows import chosen, rows_of
from tools.top.view import Row


def ensemble(name: str, *steps: str, **fields: Any) -> Stage:
    """100 requests of 200 ms each."""
    settings = Config(backend="ensemble", instances=None, steps=steps)
    return stage(settings, {1: 100}, execution_s=0.2, name=name, **fields)


def plain(name: str, queue_s: float = 0.03, **fields: Any) -> Stage:
    """100 requests."""
    return stage(fields.pop("settings", config()), {2: 50}, queue_s=queue_s, name=name, **fields)


def rows(*stages: Stage, metrics: Metrics | None = None) -> dict[str, Row]:
    return {row.stage.model.name: row for row in rows_of(stages, metrics or Metrics())}


def names(*stages: Stage) -> list[tuple[str, int]]:
    return [(row.stage.model.name, row.depth) for row in rows_of(stages, Metrics())]


def test_stages_are_below_their_ensemble_in_order() -> None:
    found = names(plain("a"), plain("z"), ensemble("e", "z", "a"), plain("b"))
    assert found == [("e", 0), ("z", 1), ("a", 1), ("b", 0)]


def test_models_that_were_never_called_come_last() -> None:
    assert names(stage(name="a"), plain("b"), ensemble("c", "a")) == [("c", 0), ("a", 1), ("b", 0)]
    assert names(stage(name="a"), plain("b")) == [("b", 0), ("a", 0)]


def test_a_stage_of_two_ensembles_is_listed_once() -> None:
    found = names(ensemble("e", "m"), ensemble("f", "m"), plain("m"))
    assert found == [("e", 0), ("m", 1), ("f", 0)]


def test_ensembles_nest() -> None:
    found = names(ensemble("outer", "inner", "m"), ensemble("inner", "n"), plain("m"), plain("n"))
    assert found == [("outer", 0), ("inner", 1), ("n", 2), ("m", 1)]


def test_of_several_versions_the_ensemble_calls_the_newest() -> None:
    old, new = (replace(plain("m"), model=Model("m", version)) for version in ("9", "10"))
    found = [
        (row.stage.model, row.depth) for row in rows_of([old, new, ensemble("e", "m")], Metrics())
    ]
    assert found == [(Model("e", "1"), 0), (Model("m", "10"), 1), (Model("m", "9"), 0)]


def test_the_queue_of_an_ensemble_is_that_of_its_stages() -> None:
    row = rows(ensemble("e", "m", "n"), plain("m", 0.03), plain("n", 0.05))["e"]
    assert row.queue_s == pytest.approx(0.08)
    assert row.queue_share == pytest.approx(0.4)


def test_a_stage_that_others_call_too_counts_by_its_mean() -> None:
    shared = stage(config(), {2: 500}, queue_s=0.05, name="m")
    assert rows(ensemble("e", "m"), shared)["e"].queue_s == pytest.approx(0.05)


def test_a_step_twice_waits_twice() -> None:
    assert rows(ensemble("e", "m", "m"), plain("m", 0.03))["e"].queue_s == pytest.approx(0.06)


def test_the_queue_of_a_step_that_is_not_loaded_is_not_known() -> None:
    row = rows(ensemble("e", "m", "gone"), plain("m"))["e"]
    assert row.queue_s is None
    assert row.queue_share is None


def test_ensembles_that_hold_each_other_are_listed_and_end() -> None:
    found = rows(ensemble("e", "f"), ensemble("f", "e"))
    assert set(found) == {"e", "f"}
    assert found["e"].queue_s is None


def test_many_steps_many_levels_deep_take_no_time() -> None:
    level = [ensemble(f"e{n}", *(f"e{n + 1}" for _ in range(9))) for n in range(30)]
    assert rows(*level, plain("e30"))["e0"].queue_s is None


def test_a_model_without_requests_has_no_figures_of_them() -> None:
    row = rows(stage(config()))["m"]
    assert (row.mean_s, row.queue_s, row.queue_share, row.mean_batch) == (None,) * 4


def test_an_ensemble_has_no_batches_of_its_own() -> None:
    found = rows(ensemble("e", "m"), plain("m"))
    assert (found["e"].mean_batch, found["e"].batches) == (None, None)
    assert (found["m"].mean_batch, found["m"].batches) == (2.0, {2: 50})


def test_an_old_server_has_no_batch_sizes() -> None:
    one = plain("m")
    ends = [
        replace(end, counters=replace(end.counters, sizes=None))
        for end in (one.moments[0], one.moments[-1])
    ]
    assert rows(replace(one, moments=tuple(ends)))["m"].batches is None


def test_requests_wait_in_the_stages_of_an_ensemble() -> None:
    pending = {Model("e", "1"): 0, Model("m", "1"): 3, Model("n", "1"): 4}
    stages = ensemble("e", "m", "n"), plain("m"), plain("n")
    assert rows(*stages, metrics=Metrics(pending=pending))["e"].pending == 7
    del pending[Model("n", "1")]
    assert rows(*stages, metrics=Metrics(pending=pending))["e"].pending is None


def failed(**counts: int) -> Metrics:
    return Metrics(failures={Model("m", "1"): counts})


def test_rejects_are_known_only_where_the_server_names_reasons() -> None:
    some = plain("m", reasons={"REJECTED": 5})
    assert rows(some, metrics=failed(REJECTED=5))["m"].rejected == 5
    assert rows(plain("m", reasons={}), metrics=failed(REJECTED=5))["m"].rejected == 0
    assert rows(plain("m", reasons={"": 5}), metrics=Metrics())["m"].rejected is None
    assert rows(plain("m"), metrics=failed(REJECTED=5))["m"].rejected is None


def test_a_bounded_queue_may_have_refused_more_than_any_counter_says() -> None:
    bounded = plain("m", settings=config(policy(max_queue_size=5)))
    found = rows(ensemble("e", "m", "n"), bounded, plain("n"))
    assert {name: row.refuses for name, row in found.items()} == {"e": True, "m": True, "n": False}


def test_a_name_shows_its_stages_as_well() -> None:
    stages = [ensemble("e", "f"), ensemble("f", "m"), plain("m"), plain("n")]
    found = chosen(stages, ["e"])
    assert [one.model.name for one in found] == ["e", "f", "m"]
    assert chosen(stages, []) == stages

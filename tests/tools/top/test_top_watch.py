"""Looks at a server that works, is loaded again, goes away, comes back, or is an old one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from ensemble.errors import ContractMismatch, ModelUnavailable
from tests.fakes.busy_triton import BusyTriton, busy_triton
from tests.fakes.odd_server import OddServer, body, hung_up
from tools.statistics import address, http
from tools.statistics.counters import Model
from tools.top.view import Row, View
from tools.top.watch import Watch

CHAIN, FIRST = Model("chain", "1"), Model("first", "1")


@pytest.fixture
def triton() -> Iterator[BusyTriton]:
    with busy_triton() as one:
        yield one


def watching(triton: BusyTriton, *models: str) -> Watch:
    """Two seconds pass between any two looks."""
    clock = itertools.count(0.0, 2.0)
    return Watch(triton.address, triton.address, models, lambda: next(clock))


def rows(view: View) -> dict[str, Row]:
    return {row.stage.model.name: row for row in view.rows}


def test_the_first_look_has_nothing_to_compare_with(triton: BusyTriton) -> None:
    view = watching(triton).look()
    assert (view.rows, view.window_s, view.version) == ((), 0.0, "2.51.0")


def test_the_second_look_has_what_came_between(triton: BusyTriton) -> None:
    watch = watching(triton)
    watch.look()
    view = watch.look()
    chain, first, second = view.rows
    assert view.window_s == 2.0
    assert [row.depth for row in view.rows] == [0, 1, 1]
    assert chain.per_s(chain.stage.seen.requests) == 15.0
    assert chain.mean_s == pytest.approx(0.04)
    assert chain.queue_share == pytest.approx(0.5)
    assert chain.pending == 4
    assert (first.mean_batch, first.batches) == (2.0, {2: 15})
    assert second.stage.utilisation == pytest.approx(15 * 0.01 / 2)
    assert (first.rejected, first.refuses) == (0, False)


def test_counters_that_begin_again_are_counted_from_there(triton: BusyTriton) -> None:
    watch = watching(triton)
    watch.look()
    triton.requests["first"] = 0
    triton.batching = {"default_queue_policy": {"max_queue_size": 5}}
    view = watch.look()
    found = rows(view)
    assert found["first"].stage.seen.requests == triton.per_look
    assert found["first"].stage.reloaded
    assert found["first"].rejected is None  # reasons are counted on over a load
    assert found["first"].refuses  # the configuration was read again
    assert not found["second"].refuses
    assert view.loads == {FIRST: 0.0}
    assert watch.look().loads == {FIRST: 2.0}
    for _ in range(30):
        view = watch.look()
    assert view.loads == {}


def test_a_model_that_is_loaded_meanwhile_is_shown_and_one_that_leaves_is_not(
    triton: BusyTriton,
) -> None:
    watch = watching(triton)
    watch.look()
    triton.requests["third"] = 0
    triton.odd.pages["/v2/models/third/versions/1/config"] = body({"max_batch_size": 4})
    view = watch.look()
    assert rows(view)["third"].stage.seen.requests == triton.per_look
    assert Model("third", "1") in view.loads
    del triton.requests["third"]
    view = watch.look()
    assert "third" not in rows(view)
    assert view.loads == {}


def test_a_configuration_that_is_gone_again_is_not_known(triton: BusyTriton) -> None:
    del triton.odd.pages["/v2/models/first/versions/1/config"]
    watch = watching(triton)
    watch.look()
    assert rows(watch.look())["first"].stage.config.instances is None


def test_a_configuration_that_could_not_be_read_is_asked_for_again(triton: BusyTriton) -> None:
    path = "/v2/models/chain/versions/1/config"
    config = triton.odd.pages.pop(path)
    watch = watching(triton)
    watch.look()
    triton.odd.pages[path] = config
    assert rows(watch.look())["chain"].is_ensemble


def test_configurations_are_read_once(triton: BusyTriton) -> None:
    watch = watching(triton)
    for _ in range(4):
        watch.look()
    assert triton.odd.asked.count("/v2/models/first/versions/1/config") == 1


def test_what_was_idle_is_read_again_when_it_is_called(triton: BusyTriton) -> None:
    triton.requests["first"], triton.per_look = 0, 0
    watch = watching(triton)
    watch.look()
    watch.look()
    triton.per_look = 30
    triton.batching = {"default_queue_policy": {"max_queue_size": 5}}
    assert rows(watch.look())["first"].refuses


@pytest.mark.parametrize("how", [hung_up, OddServer.silence])
def test_a_server_that_comes_back_begins_anew(
    triton: BusyTriton, how: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http.ask, "__defaults__", (None, 0.3, None))
    monkeypatch.setattr(http.get_json, "__defaults__", (0.3,))
    watch = watching(triton)
    watch.look()
    pages = dict(triton.odd.pages)
    silent = how if how is hung_up else triton.odd.silence
    triton.odd.pages = dict.fromkeys(pages, silent)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            watch.look()
    triton.odd.pages = pages
    triton.requests = dict.fromkeys(triton.requests, 5000)  # more than before: another life
    assert watch.look().rows == ()
    assert rows(watch.look())["first"].stage.seen.requests == triton.per_look


def test_a_server_that_comes_back_may_be_set_otherwise(triton: BusyTriton) -> None:
    watch = watching(triton)
    watch.look()
    pages = dict(triton.odd.pages)
    triton.odd.pages = dict.fromkeys(pages, hung_up)
    with pytest.raises(ModelUnavailable):
        watch.look()
    triton.odd.pages = pages
    triton.batching = {"default_queue_policy": {"max_queue_size": 5}}
    watch.look()
    assert rows(watch.look())["first"].refuses


def test_a_server_that_freezes_over_its_configurations_is_away(
    triton: BusyTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http.get_json, "__defaults__", (0.1,))
    triton.odd.pages["/v2/models/chain/versions/1/config"] = triton.odd.silence
    with pytest.raises(ModelUnavailable, match="no answer within"):
        watching(triton).look()
    assert "/v2/models/first/versions/1/config" not in triton.odd.asked


def test_metrics_that_come_later_are_found(
    triton: BusyTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "METRICS_PORT", int(triton.address.rpartition(":")[2]))
    metrics = triton.odd.pages.pop("/metrics")
    watch = Watch(triton.address)
    watch.look()
    assert watch.look().metrics_url is None
    stats = triton.odd.pages.pop("/v2/models/stats")
    with pytest.raises(ModelUnavailable):
        watch.look()
    triton.odd.pages |= {"/metrics": metrics, "/v2/models/stats": stats}
    watch.look()
    assert watch.look().metrics_url == f"http://{triton.address}/metrics"


def test_metrics_of_another_server_are_not_used(triton: BusyTriton) -> None:
    triton.per_look = 100
    triton.odd.pages["/metrics"] = body(
        'nv_inference_request_success{model="first",version="1"} 5\n'
        'nv_inference_pending_request_count{model="first",version="1"} 9\nnv_cpu_utilization 1\n'
    )
    watch = watching(triton)
    watch.look()
    view = watch.look()
    assert view.metrics_url is None
    assert view.foreign_metrics_url == f"http://{triton.address}/metrics"
    assert view.cpu_utilisation is None
    assert rows(view)["first"].pending is None


def test_only_what_is_asked_for_is_shown(triton: BusyTriton) -> None:
    watch = watching(triton, "second")
    watch.look()
    assert list(rows(watch.look())) == ["second"]


def test_a_name_that_is_not_loaded(triton: BusyTriton) -> None:
    triton.requests["\x1b[2J"] = 0
    with pytest.raises(ContractMismatch, match=r"^--model x: .*among \?\[2J, chain") as found:
        watching(triton, "x").look()
    assert found.value.exit_code == 2


def test_a_name_that_leaves_is_no_fault(triton: BusyTriton) -> None:
    watch = watching(triton, "second")
    watch.look()
    del triton.requests["second"]
    assert watch.look().rows == ()

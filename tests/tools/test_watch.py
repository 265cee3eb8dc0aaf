"""The watcher's rules: what is dead, what hangs, and how long to wait before a new start."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ensemble.errors import BackendFailure
from tools.serve import serve as serving
from tools.serve.installation import Installation
from tools.serve.options import ServeOptions
from tools.serve.process import Stub
from tools.serve.serve import Server, Stopping
from tools.serve.watch import HANG_S, BackOff, ProgressWatch, StubWatch, model_of

READY = {"preprocess", "classifier"}
BOTH = {"preprocess_0_0": 1.0, "preprocess_0_1": 1.0, "classifier_0_0": 1.0}
ONE_LOST = {"preprocess_0_1": 1.0, "classifier_0_0": 1.0}


@pytest.fixture
def watch() -> StubWatch:
    """It has seen two stubs of preprocess and one of classifier."""
    one = StubWatch()
    assert one.observe(BOTH, READY) == set()
    return one


# A stub that is gone


def test_all_is_well(watch: StubWatch) -> None:
    for _ in range(3):
        assert watch.observe(BOTH, READY) == set()
        assert not watch.suspects


def test_a_lost_stub_is_told_at_the_second_look_and_once(watch: StubWatch) -> None:
    assert watch.observe(ONE_LOST, READY) == set()
    assert watch.suspects
    assert watch.observe(ONE_LOST, READY) == {"preprocess"}
    assert not watch.suspects
    assert watch.observe(ONE_LOST, READY) == set()  # it was told; the load may have failed


def test_all_that_are_lost_are_told(watch: StubWatch) -> None:
    watch.observe({}, READY)
    assert watch.observe({}, READY) == READY


def test_a_stub_that_is_back_at_the_second_look_was_not_lost(watch: StubWatch) -> None:
    watch.observe(ONE_LOST, READY)
    assert watch.observe(BOTH | {"preprocess_0_0": 2.0}, READY) == set()
    assert not watch.suspects


def test_a_load_by_somebody_else_is_no_death(watch: StubWatch) -> None:
    """New stubs come before the old ones end, so the newest of an instance never gets older."""
    new = dict.fromkeys(BOTH, 2.0)
    for _ in range(3):
        assert watch.observe(new, READY) == set()


def test_an_old_copy_that_stays_hides_no_death(watch: StubWatch) -> None:
    """Triton waits for the dead stub of the old copy for ever, and keeps its sibling alive."""
    watch.observe(BOTH | {"preprocess_0_1": 2.0}, READY)
    old_one_left = BOTH  # of preprocess_0_1, the one started at 2.0 is gone
    watch.observe(old_one_left, READY)
    assert watch.observe(old_one_left, READY) == {"preprocess"}


def test_a_second_death_is_told_like_the_first(watch: StubWatch) -> None:
    for start_s in (2.0, 3.0):
        watch.observe(ONE_LOST, READY)
        assert watch.observe(ONE_LOST, READY) == {"preprocess"}
        watch.observe(BOTH | {"preprocess_0_0": start_s}, READY)


def test_what_is_not_ready_is_judged_when_it_is(watch: StubWatch) -> None:
    """An answer that came too late must not make the watch forget what there was."""
    others = READY - {"preprocess"}
    watch.observe(ONE_LOST, READY)
    assert watch.observe(ONE_LOST, others) == set()
    assert watch.observe(ONE_LOST, READY) == {"preprocess"}
    watch.observe(BOTH, READY)
    assert watch.observe(ONE_LOST, others) == set()
    watch.observe(ONE_LOST, READY)
    assert watch.observe(ONE_LOST, READY) == {"preprocess"}


def test_a_model_that_was_unloaded_and_loaded_is_not_lost(watch: StubWatch) -> None:
    unloaded = {"classifier_0_0": 1.0}
    for _ in range(3):
        assert watch.observe(unloaded, {"classifier"}) == set()
    assert watch.observe(dict.fromkeys(BOTH, 2.0), READY) == set()
    assert not watch.suspects


def test_models_may_have_underscores() -> None:
    assert model_of("my_own_model_0_12") == "my_own_model"


# Nothing moves


def test_only_unanswered_probes_without_any_execution_are_a_hang() -> None:
    watch = ProgressWatch()
    assert not watch.observe(0.0, answered=True, counts={"preprocess": 1})
    assert not watch.observe(HANG_S - 1, answered=False, counts={"preprocess": 1})
    assert watch.observe(HANG_S, answered=False, counts={"preprocess": 1})


def test_the_clock_starts_with_the_first_look() -> None:
    assert not ProgressWatch().observe(1e6, answered=False, counts={})


@pytest.mark.parametrize("answered", [True, False])
def test_a_long_queue_is_no_hang(answered: bool) -> None:
    """Probes may wait behind a thousand requests, as long as these go on."""
    watch = ProgressWatch()
    for step in range(20):
        counts = {"preprocess": 1, "classifier": 0 if answered else step}
        assert not watch.observe(step * HANG_S / 2, answered, counts)


def test_an_answer_starts_the_clock_anew() -> None:
    watch = ProgressWatch()
    watch.observe(0.0, answered=True, counts={})
    watch.observe(HANG_S - 1, answered=True, counts={})
    assert not watch.observe(2 * HANG_S - 2, answered=False, counts={})
    assert watch.observe(2 * HANG_S - 1, answered=False, counts={})


# A server that ends again and again


def test_the_wait_doubles_up_to_half_a_minute() -> None:
    back_off = BackOff()
    waits_s = [back_off.after_run_of(1.0) for _ in range(9)]
    assert waits_s == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_a_long_run_is_forgiven() -> None:
    back_off = BackOff()
    for _ in range(5):
        back_off.after_run_of(59.9)
    assert back_off.after_run_of(60.0) == 0.5
    assert back_off.after_run_of(1.0) == 1.0


# What serve does about it


class FakeProcess:
    """A server with these stubs, and nothing else."""

    def __init__(self, stubs: list[Stub]) -> None:
        self._stubs = stubs

    def stubs(self) -> list[Stub]:
        return self._stubs

    def close_shared_memory(self) -> None:
        pass


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with process:
        yield psutil.Process(process.pid)
        process.kill()


def a_server(*stubs: Stub) -> Server:
    options = ServeOptions(Path(), "token", "prefix_")
    server = Server(Installation(Path("tritonserver")), options, Path("log"), Stopping())
    server._process = FakeProcess(list(stubs))  # type: ignore[assignment]
    return server


def test_the_old_stubs_of_a_reload_are_ended_later(
    sleeper: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    monkeypatch.setattr(serving.health, "load", lambda url, model, token: loaded.append(model))
    server = a_server(Stub("preprocess_0_1", 1.0, sleeper))
    server._reload({"classifier"})
    assert server._retired == []
    server._reload({"preprocess"})
    assert loaded == ["classifier", "preprocess"]
    server._end_retired()
    assert sleeper.is_running()
    server._retired = [(time.monotonic(), process) for _, process in server._retired]
    server._end_retired()
    sleeper.wait(timeout=10)
    assert server._retired == []


def test_the_stubs_of_a_model_that_did_not_load_are_left_alone(
    sleeper: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(url: str, model: str, token: str) -> None:
        raise BackendFailure("no")

    monkeypatch.setattr(serving.health, "load", fails)
    server = a_server(Stub("preprocess_0_1", 1.0, sleeper))
    server._reload({"preprocess"})
    assert server._retired == []


@pytest.mark.parametrize(
    ("failure", "loaded"),
    [
        ("in ensemble 'ensemble', Stub process 'my_model_0_1' is not healthy.", ["my_model"]),
        ("CUDA error", ["classifier", "preprocess"]),
    ],
)
def test_a_failed_probe_loads_what_it_names_or_what_fails(
    failure: str, loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking each stage says little when one stub of two is dead, and takes its time."""

    def check(url: str, model: str = "ensemble", timeout_s: float = 5.0) -> float:
        if model in ("ensemble", "preprocess", "classifier"):
            raise BackendFailure(failure)
        return 0.0

    seen: list[str] = []
    monkeypatch.setattr(serving.health, "check", check)
    monkeypatch.setattr(serving.health, "execution_counts", lambda url: {})
    monkeypatch.setattr(serving.health, "load", lambda url, model, token: seen.append(model))
    a_server()._probe(ProgressWatch())
    assert seen == loaded


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_serve_to_stop(number: signal.Signals) -> None:
    """Ctrl-C, a service manager, and a terminal that is closed; what was set before is put back."""
    before = signal.getsignal(number)
    with serving._signals() as stopping:
        assert not stopping.asked
        signal.raise_signal(number)
        assert stopping.asked
    assert signal.getsignal(number) == before


def test_nohup_outlives_the_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with serving._signals() as stopping:
            signal.raise_signal(signal.SIGHUP)
            assert not stopping.asked
    finally:
        signal.signal(signal.SIGHUP, before)

"""The benchmark of peers, without any of them: order, reading of a record, settings, pins."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import psutil
import pytest
from packaging.requirements import Requirement

from benchmarks.peers import contest as module
from benchmarks.peers import explore, install, measure, plan, plot, running, table
from benchmarks.peers.answers import compared
from benchmarks.peers.catalogue import PEERS, TANDEM, Peer
from benchmarks.peers.contest import Contest
from benchmarks.peers.install import NotInstalled, requirements_of
from benchmarks.peers.running import NotStarted, Server
from benchmarks.peers.sustained import of_peer, over
from benchmarks.peers.words import ratio
from tools.load.generated import Generated
from tools.load.generator import Generator
from tools.record.samples import OUTCOMES, Samples

ROOT = Path(__file__).resolve().parents[2]
DOC = ROOT / "docs" / "peers.md"
OTHERS = [peer for peer in PEERS if peer.folder != TANDEM.folder]
Json = dict[str, Any]


def record(rates: dict[str, float], callers: tuple[int, ...] = (1, 4, 16), rounds: int = 5) -> Json:
    """Servers that answer so many images/s from two callers on, and no faster with more."""
    cells = []
    for (name, rate), load, number in itertools.product(rates.items(), callers, range(rounds)):
        drift = 1 + 0.1 * number
        served = rate * min(1.0, load / 2) * drift
        cell = measure.Cell(
            load, served, 1e3 * load / served, 1.2e3 * load / served, 1.5e3, 8, 1, {}
        )
        cells.append({"set": "s", "round": number, "peer": name, **vars(cell)})
    return {
        "sets": [{"name": "s", "slo_p95_ms": 100.0, "callers": list(callers)}],
        "peers": {name: {"title": name.title()} for name in rates},
        "limits": [],
        "cells": cells,
    }


def test_every_server_meets_every_load_once_in_a_round() -> None:
    for number in range(4):
        turns = list(plan.turns("abc", (1, 4, 8), number))
        assert sorted(turns) == sorted(itertools.product("abc", (1, 4, 8)))
        assert [load for _, load in turns] == [1] * 3 + [4] * 3 + [8] * 3


def test_each_server_is_as_often_early_as_late() -> None:
    places: dict[str, list[int]] = {name: [] for name in "abcd"}
    for number in range(8):
        turns = list(plan.turns("abcd", (1, 4), number))
        for place, (name, _) in enumerate(turns):
            places[name].append(place % 4)
    assert {sum(found) for found in places.values()} == {sum(range(4)) * 16 // 4}


def test_throughput_is_that_at_the_crossing_of_the_service_level() -> None:
    # p95 is 48 ms at 4 callers of 100 images/s and 192 ms at 16, with the same throughput.
    found = of_peer(record({"tandem": 100.0}, rounds=1), "s", "tandem")
    assert found.images_per_s is not None
    assert found.images_per_s.value == pytest.approx(100.0)
    assert found.bound is None


@pytest.mark.parametrize(("rate", "bound"), [(300.0, "at least"), (5.0, "none")])
def test_loads_that_do_not_reach_the_service_level_are_said(rate: float, bound: str) -> None:
    assert of_peer(record({"tandem": rate}), "s", "tandem").bound == bound


def test_a_ratio_is_of_the_same_round_so_that_drift_does_not_count() -> None:
    found = over(record({"tandem": 100.0, "other": 80.0}), "s", "tandem", "other")
    assert found.ratio is not None
    assert found.ratio.low is not None
    assert found.ratio.value == pytest.approx(1.25)
    assert found.ratio.value - found.ratio.low < 1e-6  # the rounds differ by drift alone


def test_cells_with_errors_do_not_count() -> None:
    bad = record({"tandem": 100.0})
    for cell in bad["cells"]:
        if cell["callers"] == 16:
            cell["unused"] = "errors: {'internal': 3}"
    found = of_peer(bad, "s", "tandem")
    assert found.images_per_s is None
    assert found.most_images_per_s == pytest.approx(120.0)


def test_the_table_has_the_fastest_first_and_says_who_is_left_out() -> None:
    text = record({"tandem": 100.0, "slow": 50.0, "fast": 110.0})
    text["peers"]["gone"] = {"title": "Gone", "left_out": "Traceback\nno such wheel"}
    text["limits"] = [
        {"set": "s", "decoder": "served", "images_per_s": 130.0, "cpu_ms_per_image": 7.0}
    ]
    lines = table.markdown(text).splitlines()
    names = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    assert names[2:] == ["Fast", "Tandem", "Slow", "*no server, its own stages*"]
    assert lines[-1] == "Gone was left out: no such wheel"
    assert {line.count("|") for line in lines if line.startswith("|")} == {7}


def test_the_table_is_made_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record({"tandem": 100.0, "other": 80.0})))
    assert table.main([str(path)]) == 0
    assert "| Tandem |" in capsys.readouterr().out


def samples(latency_s: list[float], outcome: list[int]) -> Samples:
    """Requests that were sent one after the other."""
    waits = np.asarray(latency_s)
    due_s = np.concatenate([[0.0], np.cumsum(waits)[:-1]])
    kind = np.zeros(len(waits), np.int64)
    return Samples(due_s, np.zeros(len(waits)), waits, np.asarray(outcome), kind)


def test_a_cell_counts_what_is_answered_within_the_window_only() -> None:
    # 0.1 s each for 3 s: the ramp is 0.7 s, the window of 2 s ends before the last answers.
    generated = Generated(samples([0.1] * 30, [0] * 30), cpu_s=0.3, wall_s=3.0)
    found = measure.cell(generated, callers=1, window_s=2.0, server_cpu_s=0.6)
    assert found.images_per_s == pytest.approx(10.0, abs=0.5)  # one more or less at either end
    assert (found.p50_ms, found.server_cpu_ms, found.client_cpu_ms) == (100.0, 20.0, 10.0)
    assert found.unused is None


def test_a_cell_without_answers_knows_nothing_and_does_not_count() -> None:
    internal = OUTCOMES.index("internal")
    generated = Generated(samples([0.1] * 30, [internal] * 30), cpu_s=0.3, wall_s=3.0)
    found = measure.cell(generated, callers=1, window_s=2.0, server_cpu_s=0.6)
    assert (found.p95_ms, found.server_cpu_ms, found.client_cpu_ms) == (None, None, None)
    assert found.unused == "errors: {'internal': 30}"


def test_answers_may_differ_where_two_classes_are_level_and_nowhere_else() -> None:
    right = [[285, 282, 281], [967, 968, 504], [657, 744, 812]]
    assert compared(right, right) == (3, [])
    assert compared([[282, 285], [967, 968], [812, 657]], right) == (1, [2])


def test_every_variant_has_a_setting_that_differs_and_keeps_the_others() -> None:
    for peer in PEERS:
        first, *others = explore.variants(peer)
        assert first == peer
        for other in others:
            assert other.folder == peer.folder
            assert other.settings.keys() == peer.settings.keys()
            assert other.settings != peer.settings


def test_the_lines_of_an_exploration_compare_with_the_peers_own_settings() -> None:
    explored = record({"litserve": 80.0, "litserve-1": 100.0})
    lines = list(explore.lines(explored))
    assert len(lines) == 3
    assert re.match(r"Litserve-1: .*, 1\.25 \[", lines[2])


def test_what_is_beyond_the_loads_is_said_of_a_ratio_too() -> None:
    found = over(record({"tandem": 300.0, "other": 80.0}), "s", "tandem", "other")
    assert ratio(found).startswith("at least ")


@pytest.mark.parametrize("peer", OTHERS, ids=lambda peer: peer.name)
def test_each_peer_has_its_server_and_pins_of_all_that_it_names(peer: Any) -> None:
    server = ROOT / "benchmarks" / "peers" / peer.folder / "server.py"
    assert len(server.read_text(encoding="utf-8").splitlines()) <= 80
    pins = requirements_of(peer).read_text(encoding="utf-8").splitlines()
    pinned = {Requirement(line.partition("#")[0]).name for line in pins}
    assert set(peer.packages) <= pinned


def test_peers_have_the_runtime_and_decoder_that_tandem_has() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for package in ("onnxruntime", "opencv-python-headless"):
        (pin,) = re.findall(rf"^{package}==\S+", lock, re.MULTILINE)
        for peer in OTHERS:
            assert pin in requirements_of(peer).read_text(encoding="utf-8"), peer.name


def undocumented(text: str) -> list[str]:
    """Settings that the page's table does not name in their server's rows."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [
        f"{peer.name}: {name}"
        for peer in PEERS
        for name in peer.settings
        if not any(f"`{peer.folder}`" in row and f"`{name}`" in row for row in rows)
    ]


def test_every_setting_has_its_reason_on_the_page() -> None:
    assert undocumented(DOC.read_text(encoding="utf-8")) == []


def test_a_setting_without_a_reason_is_found() -> None:
    text = DOC.read_text(encoding="utf-8").replace("`fast_queue`", "fast queue")
    assert undocumented(text) == ["litserve: fast_queue"]


def test_the_chart_has_a_line_for_each_server_and_the_service_level(tmp_path: Path) -> None:
    path, picture = tmp_path / "record.json", tmp_path / "chart.svg"
    path.write_text(json.dumps(record({"tandem": 100.0, "other": 80.0})))
    assert table.main([str(path), "--svg", str(picture)]) == 0
    drawn = ElementTree.parse(picture).getroot()
    words = [one.text for one in drawn.iter(f"{{{plot.SVG}}}text")]
    assert {"Tandem", "Other", "SLO 100", "images/s", "p95, ms"} <= set(words)


def contest(monkeypatch: pytest.MonkeyPatch, classes: dict[str, int]) -> Contest:
    """Of servers that find one class each and start if they have one."""

    @contextmanager
    def started(peer: Peer, photograph: bytes) -> Iterator[Any]:
        if peer.name not in classes:
            raise NotStarted("no room")
        yield SimpleNamespace(
            peer=peer, address="", freeze=int, thaw=int, cpu_s=float, resident_bytes=int
        )

    cell = measure.Cell(1, 50.0, 20.0, 30.0, 40.0, 8.0, 1.0, {})
    monkeypatch.setattr(module, "running", started)
    monkeypatch.setattr(module, "ensure", lambda peer: None)
    monkeypatch.setattr(module, "versions", lambda peer: {})
    monkeypatch.setattr(module, "ask", lambda peer, *_: [classes[peer.name], 0])
    monkeypatch.setattr(module, "measure", lambda *_: cell)
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    return Contest([replace(plan.SETS[0], callers=(1, 4))], Generator())


def test_who_does_not_start_or_answers_wrong_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = {peer.name: 285 for peer in PEERS} | {"litserve": 1}
    del classes["bentoml"]
    with contest(monkeypatch, classes) as run:
        for peer in PEERS:
            run.enter(peer)
        rows = run.round(0, run.sets[0])
    assert run.facts["bentoml"]["left_out"] == "no room"
    assert run.facts["litserve"]["left_out"].startswith("other classes than the first server's")
    assert {row["peer"] for row in rows} == {
        "tandem",
        "tandem-stages",
        "fastapi",
        "ray_serve",
        "pytriton",
    }
    assert len(rows) == 5 * 2


def test_who_remembers_is_started_anew_and_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    with contest(monkeypatch, {peer.name: 285 for peer in PEERS}) as run:
        for peer in PEERS:
            run.enter(peer)
        before = dict(run.servers)
        order = [row["peer"] for row in run.round(0, run.sets[0])]
        changed = [name for name, server in run.servers.items() if server is not before[name]]
    assert changed == ["bentoml"]
    names = [peer.name for peer in PEERS if run.sets[0].name in peer.sets]
    assert order[: len(names)] == names


def until(holds: Callable[[], bool]) -> None:
    """Signals arrive when the kernel has time for them."""
    end_s = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end_s


def test_a_server_is_frozen_thawed_and_ended_with_its_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "STOP_TIMEOUT_S", 0.1)  # these don't end by themselves
    shell = ["sh", "-c", "sleep 600 & sleep 600 & wait"]
    with subprocess.Popen(shell, start_new_session=True) as process:
        server = Server(TANDEM, "", psutil.Process(process.pid))
        try:
            until(lambda: len(server.processes()) == 3)
            processes = server.processes()
            server.freeze()
            until(lambda: {one.status() for one in processes} == {psutil.STATUS_STOPPED})
            server.thaw()
            until(lambda: psutil.STATUS_STOPPED not in {one.status() for one in processes})
        finally:
            server.stop()
        until(lambda: not any(one.is_running() for one in processes))


def test_those_whose_parent_has_ended_are_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "STOP_TIMEOUT_S", 0.1)
    shell = ["sh", "-c", "sleep 600 & read end"]
    with subprocess.Popen(shell, start_new_session=True, stdin=subprocess.PIPE) as process:
        server = Server(TANDEM, "", psutil.Process(process.pid))
        until(lambda: len(server.processes()) == 2)
        (sleeper,) = server.root.children()
        process.communicate(b"\n")
    assert sleeper.is_running()
    server.stop()
    until(lambda: not sleeper.is_running() or sleeper.status() == psutil.STATUS_ZOMBIE)


def test_a_server_is_ended_although_waiting_for_it_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(processes: object, timeout_s: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running.psutil, "wait_procs", interrupted)
    shell = ["sh", "-c", "trap '' TERM; sleep 600 & wait"]
    with subprocess.Popen(shell, start_new_session=True) as process:
        server = Server(TANDEM, "", psutil.Process(process.pid))
        until(lambda: len(server.processes()) == 2)
        with pytest.raises(KeyboardInterrupt):
            server.stop()
        assert process.wait(30) == -signal.SIGKILL


def test_an_environment_that_cannot_be_made_leaves_its_peer_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_ensurepip(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(1, ["python", "-m", "ensurepip"])

    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(install.venv, "create", no_ensurepip)
    with pytest.raises(NotInstalled, match="ensurepip"):
        install.ensure(OTHERS[0])


def test_a_quick_run_has_every_set_and_few_loads() -> None:
    quick = plan.quick(plan.SETS)
    assert [replace(one, callers=(), window_s=0) for one in quick] == [
        replace(one, callers=(), window_s=0) for one in plan.SETS
    ]
    assert all(len(one.callers) == 2 and one.window_s < 1 for one in quick)

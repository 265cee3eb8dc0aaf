"""Every cause, provoked on a real server and named; and a clean bill for healthy ones.

All models sit in one server and are loaded at once: sleeping models leave the cores alone.
"""

from __future__ import annotations

import io
import json
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.conftest import RunningServer
from tests.serving.load import load
from tests.tools.doctor.loads import (
    ALONE,
    Caller,
    after_some_alone,
    again,
    calling,
    pairs,
    request,
    team,
)
from tests.tools.doctor.repository import LATE, LEVELS, Fields, chain, model, tensor, write
from tests.tools.doctor.triton import Triton, running
from tools.doctor.options import add_arguments, run
from tools.serve import health

pytestmark = pytest.mark.server

WINDOW_S = 4.0
WINDOWS = 3
TRIES = 6


def batching(**fields: Any) -> Fields:
    return fields


def timeout(microseconds: int) -> Fields:
    return {"default_queue_policy": {"default_timeout_microseconds": microseconds}}


MODELS: dict[str, Fields] = {
    "one_caller": model(60, {}),
    "two_callers": model(60, {}),
    "healthy": model(100, {}),
    "cohorts": model(60, {}, max_batch_size=64),
    "unbatched": model(60),
    "unbatched_two": model(60),
    "single": model(60, {}, max_batch_size=1),
    "wide": model(100, {}, instance_group=[{"kind": "KIND_CPU", "count": 4}]),
    "shapes": model(60, {}, input=[tensor("IN", -1)]),
    "ragged": model(60, {}, input=[tensor("IN", -1, allow_ragged_batch=True)]),
    "optional": model(60, {}, input=[tensor("IN"), tensor("MORE", optional=True)]),
    "capped": model(50, batching(preferred_batch_size=[2])),
    "vain": model(40, batching(max_queue_delay_microseconds=100_000)),
    "vain_together": model(
        20, batching(preferred_batch_size=[8], max_queue_delay_microseconds=100_000)
    ),
    "unreached": model(
        20, batching(preferred_batch_size=[6], max_queue_delay_microseconds=100_000)
    ),
    "stalling": model(60, LATE | {"max_queue_delay_microseconds": 10_000}),
    "never": model(10, {"default_queue_policy": {"allow_timeout_override": True}}),
    "full": model(100, {"default_queue_policy": {"max_queue_size": 2}}),
    "front": model(10, {}),
    "slow": model(200, {}),
    "patient": model(10, timeout(900_000)),
    "levels": model(10, LEVELS | timeout(800_000)),
    "dead": model(20, {}),
    "lame": model(20, {}, instance_group=[{"kind": "KIND_CPU", "count": 2}]),
    "raising": model(20, {}),
    "flaky": model(20, {}),
    "large": model(60, {}),
    "too_large": model(60, {}),
    "light": model(20, {}),
    "seldom": model(20, {}),
    "idle": model(20, {}),
    "full_chain": chain("front", "full"),
    "slow_chain": chain("front", "slow"),
    "undone_chain": chain("patient", "levels"),
    "one_chain": chain("light", "one_caller"),
}
RAISES = {
    "raising": "raise ValueError('always')",
    "flaky": "if any(pb_utils.get_input_tensor_by_name(r, 'IN').as_numpy().any() for r in requests)"
    ": raise ValueError('sometimes')",
}
EXPECTED: dict[str, set[str]] = {
    "one_caller": {"sequential-client"},
    "two_callers": {"too-few-clients"},
    "healthy": set(),
    "unbatched": {"no-dynamic-batching"},
    "unbatched_two": {"too-few-clients", "each-runs-alone"},
    "single": {"max-batch-size-one"},
    "wide": {"more-instances-than-load"},
    "shapes": {"shapes-apart"},
    "ragged": set(),
    "optional": {"optional-inputs-apart"},
    "capped": {"preferred-caps-batch"},
    "vain": {"delay-in-vain", "sequential-client"},
    "vain_together": {"delay-in-vain"},
    "unreached": {"preferred-unreached"},
    "never": {"timeout-never-fires", "idle-model"},
    "full": {"queue-full"},
    "slow": set(),
    "dead": {"dead-stub"},
    "raising": {"every-request-fails"},
    "flaky": {"some-requests-fail"},
    "large": {"batched-by-client"},
    "too_large": {"requests-do-not-fit"},
    "light": {"light-traffic"},
    "seldom": {"not-enough-traffic"},
    "idle": {"idle-model"},
    "full_chain": {"queue-full"},
    "slow_chain": {"bottleneck"},
    "undone_chain": {"priorities-undone", "timeouts-per-stage", "idle-model"},
}

NOT_ASKED = {
    # A full queue swallows wake-ups, so that it serves next to nothing.
    "full": {"late-mode-stalls", "not-enough-traffic"},
}


def callers() -> list[Caller]:
    random = np.random.default_rng(7)
    either = [request("optional", more=bool(more)) for more in random.integers(0, 2, 997)]
    return [
        again(request("one_caller")),
        *[again(request("two_callers"))] * 2,
        *[again(request("healthy"))] * 16,
        *[again(request("unbatched"))] * 6,
        *[again(request("unbatched_two"))] * 2,
        *[again(request("single"))] * 4,
        *[again(request("wide"), think_s=think_s) for think_s in (0.01, 0.025, 0.045)],
        *[again(request("shapes", length=n)) for n in range(1, 9)],
        *[again(request("ragged", length=n)) for n in range(1, 17)],
        *[again(*either[n:]) for n in range(12)],
        *after_some_alone("capped", 12),
        again(request("vain")),
        *[again(request("vain_together"))] * 6,
        *[again(request("unreached"))] * 3,
        *[again(request("full"))] * 4,
        *[again(request("full_chain"))] * 4,
        *[again(request("slow_chain"))] * 8,
        *[again(request("dead"))] * 3,
        *[again(request("raising"))] * 2,
        again(request("flaky"), request("flaky", value=1)),
        *[again(request("large", rows=8))] * 2,
        *[again(request("too_large", rows=5))] * 4,
        again(request("light"), think_s=0.1),
        again(request("seldom"), think_s=0.5),
    ]


@pytest.fixture(scope="module")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Triton]:
    folder = tmp_path_factory.mktemp("doctor")
    root = write(folder / "repository", MODELS)
    for name, line in RAISES.items():
        code = root / name / "1" / "model.py"
        text = code.read_text(encoding="utf-8")
        assert text.count("        ends_s = ") == 1
        code.write_text(
            text.replace("        ends_s = ", f"        {line}\n        ends_s = "),
            encoding="utf-8",
        )
    with running(folder, root) as one:
        for stub in one.process.stubs():
            if stub.instance.startswith(("dead_", "lame_0_1")):
                stub.process.kill()
        yield one


def doctor(triton: Triton, *arguments: str) -> tuple[int, str]:
    """Exit code and output."""
    parser = ArgumentParser()
    add_arguments(parser)
    url = [f"--url={triton.options.http_url}", f"--metrics-url={triton.metrics_url}"]
    out = io.StringIO()
    code = run(parser.parse_args([*url, *arguments]), out, io.StringIO())
    return code, out.getvalue()


def report(triton: Triton, *arguments: str) -> dict[str, dict[str, Any]]:
    """Each model's part of the report."""
    _, text = doctor(triton, "--json", *arguments)
    return {one["model"]: one for one in json.loads(text)["models"]}


def names(part: dict[str, Any]) -> set[str]:
    return {finding["name"] for finding in part["findings"]}


@pytest.fixture(scope="module")
def windows(triton: Triton) -> list[dict[str, set[str]]]:
    """Names of what was found at each model, all loaded; a few windows, until all is found."""
    found: list[dict[str, set[str]]] = []
    with calling(triton.grpc, callers()):
        _wait_for(triton, {"capped": 2 * ALONE, "healthy": 8, "slow_chain": 8, "optional": 8})
        while len(found) < WINDOWS and not (found and all(is_named(found, m) for m in EXPECTED)):
            parts = report(triton, f"--window-s={WINDOW_S}")
            found.append({name: names(part) for name, part in parts.items()})
    return found


def is_named(found: list[dict[str, set[str]]], name: str) -> bool:
    return any(window[name] >= EXPECTED[name] for window in found)


def _wait_for(triton: Triton, executions: dict[str, int]) -> None:
    """Until each has had so many."""
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s:
        counts = health.execution_counts(triton.options.http_url)
        if all(counts[name] >= enough for name, enough in executions.items()):
            return
        time.sleep(0.1)
    raise AssertionError(f"no traffic: {counts}")


@pytest.mark.parametrize("name", EXPECTED)
def test_the_cause_is_named(windows: list[dict[str, set[str]]], name: str) -> None:
    """A busy machine may blur a window; what no window may show is another cause."""
    assert is_named(windows, name), [window[name] for window in windows]
    for window in windows:
        assert window[name] <= EXPECTED[name] | NOT_ASKED.get(name, set())


def test_a_queue_policy_stalls_a_quiet_server(triton: Triton) -> None:
    """By chance, some 10 to 30 of 100 times, so watch until it does."""
    with calling(triton.grpc, [pairs("stalling", gap_s=0.02)]):
        for _ in range(TRIES):
            part = report(triton, "--model=stalling", f"--window-s={WINDOW_S}")["stalling"]
            if "late-mode-stalls" in names(part):
                return
    raise AssertionError(json.dumps(part, indent=1))


def test_callers_that_return_together_split_in_halves(triton: Triton) -> None:
    """Two teams, since on a busy machine single callers drift; some alone, for their times.

    An idle server runs the first request of a team alone and then the others; only after that is
    the team together, so the second one begins meanwhile.
    """
    with calling(triton.grpc, [again(request("cohorts"))]):
        _wait_for(triton, {"cohorts": ALONE})
    for _ in range(TRIES):
        with calling(triton.grpc, [team("cohorts", 8, 0), team("cohorts", 8, 0.1)]):
            part = report(triton, "--model=cohorts", "--window-s=3")["cohorts"]
        if "alternating-cohorts" in names(part):
            return
    raise AssertionError(json.dumps(part, indent=1))


def test_healthy_models_get_a_clean_bill(triton: Triton) -> None:
    with calling(triton.grpc, [again(request("healthy"))] * 16):
        _, text = doctor(triton, "--model=healthy", "--window-s=0.5")  # until it is in its stride
        code, text = doctor(triton, "--model=healthy", "--window-s=2")
    assert code == 0, text
    assert "Verdict: nothing found" in text
    assert max(map(len, text.splitlines())) <= 80


def test_no_traffic_is_no_clean_bill(triton: Triton) -> None:
    code, text = doctor(triton, "--model=idle", "--model=healthy", "--window-s=0.3")
    assert code == 1
    assert "Verdict: none." in text


def test_one_client_of_an_ensemble_is_named_there(triton: Triton) -> None:
    with calling(triton.grpc, [again(request("one_chain"))]):
        seen = report(triton, "--model=one_chain", "--window-s=2.5")
    assert "sequential-client" in names(seen["one_chain"]), json.dumps(seen, indent=1)
    assert "sequential-client" not in names(seen["one_caller"])


def test_the_probe_reads_the_answers(triton: Triton) -> None:
    models = ("dead", "full", "healthy", "lame", "raising")
    seen = report(triton, "--probe=8", "--window-s=0.2", *(f"--model={one}" for one in models))
    assert "dead-stub" in names(seen["dead"])
    assert "dead-stub" in names(seen["lame"])  # one process of two
    assert seen["lame"]["probe"]["together_ms"] is not None
    assert "queue-full" in names(seen["full"])
    assert seen["healthy"]["probe"]["executions"] < 8
    assert seen["healthy"]["probe"]["errors"] == []
    assert "ValueError: always" in seen["raising"]["probe"]["errors"][0]


def test_a_load_in_the_window_is_seen(triton: Triton) -> None:
    with calling(triton.grpc, [again(request("light"), think_s=0.02)]):
        loading = threading.Thread(
            target=health.load,
            args=(triton.options.http_url, "light", triton.options.token),
        )
        loading.start()
        part = report(triton, "--model=light", "--window-s=7")["light"]
        loading.join()
    assert part["reloaded"]
    assert "reloaded" in names(part)
    assert 0 < part["window_s"] < 7


def test_the_example_under_load_gets_a_clean_bill(server: RunningServer) -> None:
    parser = ArgumentParser()
    add_arguments(parser)
    out = io.StringIO()
    with load(server, 12) as clients:
        clients.wait_for_answers(quiet_s=1, timeout_s=30)
        metrics = f"--metrics-url=127.0.0.1:{server.metrics_port}"
        options = parser.parse_args([f"--url={server.http}", metrics, "--window-s=3"])
        code = run(options, out, io.StringIO())
    assert code == 0, out.getvalue()
    assert "ensemble (version 1)" in out.getvalue()

"""Every cause, provoked on a real server and named; and a clean bill for healthy ones.

All models sit in one server and are loaded at once: sleeping models leave the cores alone.
"""

from __future__ import annotations

import io
import json
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.tools.doctor.loads import Caller, after_a_few_alone, again, calling, request
from tests.tools.doctor.repository import LATE, LEVELS, Fields, chain, model, tensor, write
from tests.tools.doctor.triton import Triton, running
from tools.doctor.options import add_arguments, run
from tools.serve import health

pytestmark = pytest.mark.server

WINDOW_S = 5.0
STALL_TRIES = 6


def batching(**fields: Any) -> Fields:
    return fields


def timeout(microseconds: int) -> Fields:
    return {"default_queue_policy": {"default_timeout_microseconds": microseconds}}


MODELS: dict[str, Fields] = {
    "one_caller": model(60, {}),
    "healthy": model(100, {}),
    "cohorts": model(100, {}, max_batch_size=64),
    "unbatched": model(60),
    "single": model(60, {}, max_batch_size=1),
    "wide": model(100, {}, instance_group=[{"kind": "KIND_CPU", "count": 4}]),
    "shapes": model(60, {}, input=[tensor("IN", -1)]),
    "ragged": model(60, {}, input=[tensor("IN", -1, allow_ragged_batch=True)]),
    "optional": model(60, {}, input=[tensor("IN"), tensor("MORE", optional=True)]),
    "capped": model(100, batching(preferred_batch_size=[2])),
    "vain": model(40, batching(max_queue_delay_microseconds=100_000)),
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
    "healthy": set(),
    "cohorts": {"alternating-cohorts"},
    "unbatched": {"no-dynamic-batching"},
    "single": {"max-batch-size-one"},
    "wide": {"more-instances-than-load"},
    "shapes": {"shapes-apart"},
    "ragged": set(),
    "optional": {"optional-inputs-apart"},
    "capped": {"preferred-caps-batch"},
    "vain": {"delay-in-vain", "sequential-client"},
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


def callers() -> list[Caller]:
    random = np.random.default_rng(7)
    either = [request("optional", more=bool(more)) for more in random.integers(0, 2, 997)]
    return [
        again(request("one_caller")),
        *[again(request("healthy"))] * 16,
        *after_a_few_alone("cohorts", 16),
        *[again(request("unbatched"))] * 6,
        *[again(request("single"))] * 4,
        *[again(request("wide"))] * 3,
        *[again(request("shapes", length=n)) for n in range(1, 9)],
        *[again(request("ragged", length=n)) for n in range(1, 9)],
        *[again(*either[n:]) for n in range(12)],
        *after_a_few_alone("capped", 12),
        again(request("vain")),
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
            if stub.instance.startswith("dead_"):
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
def seen(triton: Triton) -> dict[str, dict[str, Any]]:
    """All models over one window, all loaded."""
    with calling(triton.grpc, callers()):
        _wait_for_all(triton)
        return report(triton, f"--window-s={WINDOW_S}")


def _wait_for_all(triton: Triton) -> None:
    """Until every model with callers is past its first executions."""
    deadline_s = time.monotonic() + 30
    wanted = ("cohorts", "capped", "healthy", "slow_chain", "optional", "unreached")
    while time.monotonic() < deadline_s:
        counts = health.execution_counts(triton.options.http_url)
        if all(counts[name] >= 8 for name in wanted):
            return
        time.sleep(0.1)
    raise AssertionError(f"no traffic: {counts}")


@pytest.mark.parametrize("name", EXPECTED)
def test_the_cause_is_named(seen: dict[str, dict[str, Any]], name: str) -> None:
    got = names(seen[name]) - {"rejects-not-counted"}
    assert got == EXPECTED[name], json.dumps(seen[name], indent=1)

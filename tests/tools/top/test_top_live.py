"""Against a real Triton under a little traffic: every figure is there, and they fit together."""

from __future__ import annotations

import io
import json
from argparse import ArgumentParser

import pytest

from tests.conftest import RunningServer
from tests.serving.load import load
from tools.top.options import add_arguments, run

pytestmark = pytest.mark.server


def test_what_a_real_server_does_is_shown(server: RunningServer) -> None:
    parser = ArgumentParser()
    add_arguments(parser)
    metrics = f"--metrics-url=127.0.0.1:{server.metrics_port}"
    arguments = [f"--url={server.http}", metrics, "--once", "--json", "--interval-s=2"]
    out = io.StringIO()
    with load(server, 4) as traffic:
        traffic.wait_for_answers(quiet_s=0.5, timeout_s=30.0)
        assert run(parser.parse_args(arguments), out) == 0
    found = json.loads(out.getvalue())
    whole, *stages = found["models"]
    assert (whole["model"], whole["steps"]) == ("ensemble", [one["model"] for one in stages])
    assert found["has_quantiles"]
    assert found["cpu_utilisation"] > 0
    for one in found["models"]:
        assert one["requests_per_s"] > 0
        assert one["failures_per_s"] == one["rejected_per_s"] == 0
        assert 0 < one["quantiles_ms"]["0.5"] <= one["quantiles_ms"]["0.99"]
        assert 0 <= one["queue_share"] <= 1
    for one in stages:
        assert one["mean_batch"] >= 1
        assert sum(one["batch_sizes"].values()) > 0
    assert whole["queue_ms"] == pytest.approx(sum(one["queue_ms"] for one in stages), abs=1)
    # ^ what the ensemble itself waits before its first stage is microseconds

"""Every profile is one that the real server takes, also through Triton's own flag.

The stages without DALI stand for all: what differs is the batching, which the core reads.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf import json_format

from ensemble.model_config import Deployment, configurations
from ensemble.pbtxt import from_fields
from ensemble.profiles import PROFILES, STAGES
from tests.conftest import RunningServer, running_server
from tools.serve.health import is_ready
from tools.serve.options import TOKEN_HEADER

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that was told to take the ``priority`` profile by Triton's flag alone."""
    folder = tmp_path_factory.mktemp("profiles")
    arguments = ("--instances=1", "--triton-arg=--model-config-name=priority")
    with running_server(folder, *arguments) as running:
        yield running


def batching(server: RunningServer, model: str) -> dict[str, Any] | None:
    with urllib.request.urlopen(f"http://{server.http}/v2/models/{model}/config") as response:
        found: dict[str, Any] | None = json.load(response).get("dynamic_batching")
    return found


def test_tritons_own_flag_chooses_a_profile(renamed: RunningServer) -> None:
    for stage in STAGES:
        config = batching(renamed, stage)
        assert config is not None
        assert (int(config["priority_levels"]), int(config["default_priority_level"])) == (2, 2)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_server_takes_each_profile(renamed: RunningServer, profile: str) -> None:
    deployment = Deployment(target="cpu", profile=profile)
    wanted = configurations(deployment)
    for stage in ("classifier", "postprocess"):
        config = json_format.MessageToJson(
            from_fields(wanted[stage]), preserving_proto_field_name=True
        )
        body = json.dumps({"parameters": {"config": config}}).encode()
        request = urllib.request.Request(
            f"http://{renamed.http}/v2/repository/models/{stage}/load",
            body,
            {TOKEN_HEADER: renamed.token},
        )
        load(renamed, request)
        expected = PROFILES[profile].dynamic_batching(stage)
        got = batching(renamed, stage)
        assert (got is None) == (expected is None)
        for field, value in (expected or {}).items():
            assert got is not None
            assert_field(got[field], value)


def load(server: RunningServer, request: urllib.request.Request) -> None:
    """Load a model; once more if the server itself crashed, which ``serve`` mends.

    A race in the Python backend of Triton 2.51 now and then aborts the server while stubs start.
    """
    for attempt in range(3):
        try:
            urllib.request.urlopen(request, timeout=60).close()
            return
        except urllib.error.HTTPError:
            raise
        except OSError:
            if attempt == 2:
                raise
        deadline = time.monotonic() + 60
        while not is_ready(f"http://{server.http}") and time.monotonic() < deadline:
            time.sleep(0.2)


def assert_field(got: Any, value: Any) -> None:
    """Compare as Triton's JSON writes it: 64-bit numbers are strings."""
    if isinstance(value, dict):
        for name, inner in value.items():
            assert_field(got[name], inner)
    else:
        assert json.dumps(got).replace('"', "") == json.dumps(value).replace('"', "")

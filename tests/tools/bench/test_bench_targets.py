"""What is measured: profiles, repositories and servers that run already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ensemble.errors import BackendFailure, ContractMismatch, ModelUnavailable
from ensemble.model_config import Deployment
from tests.fakes.odd_server import body
from tests.tools.bench.bench_fakes import FakeTriton, fake_triton
from tools.bench.targets import (
    Endpoint,
    Own,
    foreign_target,
    named_apart,
    own_targets,
    subject_of,
    up,
)
from tools.serve.ports import free_ports

CPU = Deployment("cpu")


@pytest.fixture
def triton() -> Iterator[FakeTriton]:
    with fake_triton() as one:
        yield one


def endpoint(triton: FakeTriton) -> Endpoint:
    return Endpoint("a", triton.odd.url, triton.odd.address, f"{triton.odd.url}/metrics")


def test_each_profile_is_a_target_with_its_own_deployment() -> None:
    found = own_targets(["baseline", "bulk"], CPU)
    assert [(one.name, one.profile, one.deployment.profile) for one in found] == [
        ("baseline", "baseline", "baseline"),
        ("bulk", "bulk", "bulk"),
    ]


def test_a_name_that_was_there_before_gets_a_number() -> None:
    wanted = [*own_targets(["bulk", "bulk", "bulk"], CPU), foreign_target("bulk-2=h:8000")]
    assert [one.name for one in named_apart(wanted)] == ["bulk", "bulk-2", "bulk-3", "bulk-2-2"]
    assert [one.profile for one in named_apart(wanted)] == ["bulk", "bulk", "bulk", None]


def test_a_profile_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ContractMismatch, match="interactve: expected one of baseline"):
        own_targets(["interactve"], CPU)


def test_a_repository_is_measured_as_it_is_or_by_the_profiles_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "m" / "configs").mkdir(parents=True)
    (tmp_path / "m" / "configs" / "fast.pbtxt").touch()
    assert own_targets([], CPU, tmp_path) == [Own("as-it-is", "as-it-is", CPU, tmp_path)]
    assert own_targets(["fast"], CPU, tmp_path) == [Own("fast", "fast", CPU, tmp_path)]
    # Triton would take config.pbtxt for a name that it does not know, and say nothing.
    with pytest.raises(ContractMismatch, match="expected one of fast"):
        own_targets(["bulk"], CPU, tmp_path)


def test_a_repository_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractMismatch, match="--repository"):
        own_targets([], CPU, tmp_path / "nothing")


@pytest.mark.parametrize(
    ("text", "name", "http_url", "grpc", "metrics"),
    [
        ("h", "server", "http://h:8000", "h:8001", "http://h:8002/metrics"),
        ("a=h:9000", "a", "http://h:9000", "h:9001", "http://h:9002/metrics"),
        ("a=http://h:80/x,grpc=7", "a", "http://h:80/x", "h:7", "http://h:82/metrics"),
        ("a=h,grpc=g:5,metrics=m:6", "a", "http://h:8000", "g:5", "http://m:6/metrics"),
        ("a=[::1]:80", "a", "http://[::1]:80", "[::1]:81", "http://[::1]:82/metrics"),
    ],
)
def test_a_url_names_http_and_the_other_ports_follow(
    text: str, name: str, http_url: str, grpc: str, metrics: str
) -> None:
    one = foreign_target(text)
    assert (one.name, one.http_url, one.grpc, one.metrics_url) == (name, http_url, grpc, metrics)
    assert one.profile is None


@pytest.mark.parametrize(
    "text", ["", "a=", "a=h:0", "a=h:99999", "https://h", "h,colour=3", "h,grpc=", "h,grpc=x:y"]
)
def test_a_url_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ContractMismatch):
        foreign_target(text)


def test_each_protocol_has_its_address() -> None:
    one = foreign_target("a=h:9000,grpc=7")
    assert (one.address("grpc"), one.address("http")) == ("h:7", "h:9000")


def test_a_server_says_what_it_is_and_what_is_behind_the_model(triton: FakeTriton) -> None:
    subject = subject_of(endpoint(triton), "ensemble")
    assert subject.models == ("preprocess", "classifier", "ensemble")
    assert subject.target.server == "triton 2.51.0"
    assert subject.target.steps == ("preprocess", "classifier")
    assert set(subject.target.configurations) == {"preprocess", "classifier", "ensemble"}
    assert subject.max_batch_size == 8


def test_ensembles_within_ensembles_are_followed_and_circles_end(triton: FakeTriton) -> None:
    steps = [{"model_name": name} for name in ("preprocess", "ensemble")]
    triton.odd.pages["/v2/models/classifier/config"] = body(
        {"ensemble_scheduling": {"step": steps}}
    )
    models = subject_of(endpoint(triton), "ensemble").models
    assert models == ("preprocess", "classifier", "ensemble")


def test_a_model_that_is_not_there_is_said(triton: FakeTriton) -> None:
    with pytest.raises(ModelUnavailable, match="other"):
        subject_of(endpoint(triton), "other")


@pytest.mark.parametrize("closed", ["/v2/models/stats", "/v2/models/classifier/config"])
def test_a_server_that_keeps_a_part_to_itself_is_measured_without(
    triton: FakeTriton, closed: str
) -> None:
    triton.odd.pages[closed] = body({"error": "This API is restricted"}, 403)
    subject = subject_of(endpoint(triton), "ensemble")
    assert subject.models == ()
    assert "restricted" in str(subject.silence)
    assert subject.max_batch_size == 1


def test_what_a_server_calls_itself_can_not_move_the_cursor(triton: FakeTriton) -> None:
    triton.odd.pages["/v2"] = body({"name": "\x1b[2Jtriton", "version": "1"})
    assert subject_of(endpoint(triton), "ensemble").target.server == "?[2Jtriton 1"


def test_a_server_that_runs_is_taken_as_it_is_and_its_metrics_if_they_answer(
    triton: FakeTriton,
) -> None:
    one = endpoint(triton)
    without = Endpoint("b", triton.odd.url, triton.odd.address, f"{triton.odd.url}/nothing")
    with up([one, without]) as found:
        assert found[0] == one
        assert found[1].metrics_url is None


def test_a_server_that_is_not_there_is_said() -> None:
    (port,) = free_ports(1)
    with pytest.raises(ModelUnavailable), up([foreign_target(f"a=127.0.0.1:{port}")]):
        pass


class Ended:
    """A process of our own that is gone."""

    def exit_code(self) -> int:
        return -9

    def failure(self, what: str) -> BackendFailure:
        return BackendFailure(f"{what}; log: …")


def test_a_server_of_our_own_that_ended_is_told_with_its_log(triton: FakeTriton) -> None:
    alive = endpoint(triton)
    alive.check_alive()
    ended = Endpoint("a", triton.odd.url, "", process=Ended())  # type: ignore[arg-type]
    with pytest.raises(BackendFailure, match=r"a: the server ended with code -9; log"):
        ended.check_alive()

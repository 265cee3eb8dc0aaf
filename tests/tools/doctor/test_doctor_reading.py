"""What a server says is read as it is; what it does not say stays unknown; odd ones are named."""

from __future__ import annotations

import io
import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from ensemble.errors import ContractMismatch, DeadlineExceeded, ModelUnavailable, ServingError
from tests.fakes.odd_server import (
    OddServer,
    Reply,
    body,
    broken_off,
    endless,
    hung_up,
    no_http,
    odd_server,
)
from tools.clock import Clock
from tools.doctor import options
from tools.doctor.probe import request_of
from tools.doctor.window import Target, record, stage_of, watched
from tools.serve.ports import free_ports
from tools.statistics import address, http
from tools.statistics.configuration import Batching, Config, Input, Policy, config_of
from tools.statistics.counters import Counters, Model, Size, read_counters
from tools.statistics.metrics import Metrics, metrics_of, read_metrics
from tools.statistics.snapshot import Snapshot, are_foreign

M = Model("m", "1")
CONFIG = {
    "name": "m",
    "backend": "python",
    "max_batch_size": 8,
    "input": [
        {"name": "IN", "data_type": "TYPE_UINT8", "dims": ["-1"], "allow_ragged_batch": True}
    ],
    "dynamic_batching": {
        "preferred_batch_size": [8],
        "max_queue_delay_microseconds": "2000",
        "default_queue_policy": {
            "timeout_action": "DELAY",
            "default_timeout_microseconds": "100000",
            "allow_timeout_override": True,
            "max_queue_size": 5,
        },
        "priority_levels": "2",
        "default_priority_level": "1",
        "priority_queue_policy": {"1": {"max_queue_size": 3}},
    },
    "instance_group": [
        {"kind": "KIND_GPU", "count": 2, "gpus": [0, 1]},
        {"kind": "KIND_CPU", "count": 1},
        {"kind": "KIND_CPU", "count": 4, "passive": True},
    ],
}


def duration(count: int, ms: float) -> dict[str, int]:
    return {"count": count, "ns": round(ms * 1e6)}


def row(requests: int, **more: Any) -> dict[str, Any]:
    """A model that has run so many requests two by two, each execution 10 ms."""
    parts = ("queue", "compute_input", "compute_infer", "compute_output")
    stats = {part: duration(requests, 10 * requests) for part in parts}
    batch = {part: duration(requests // 2, 5 * requests) for part in parts[1:]}
    return {
        "name": "m",
        "version": "1",
        "inference_count": requests,
        "execution_count": requests // 2,
        "inference_stats": {
            "success": duration(requests, 40 * requests),
            "fail": duration(1, 1),
            "cache_hit": duration(0, 0),
            **stats,
        },
        "batch_stats": [{"batch_size": 2, **batch}],
        **more,
    }


@pytest.fixture
def server() -> Iterator[OddServer]:
    """A good one, with traffic: each time it is asked it has run 30 requests more."""
    with odd_server() as one:
        one.pages = {
            "/v2": body({"name": "triton", "version": "2.51.0"}),
            "/v2/models/stats": lambda handler: body({"model_stats": [row(30 * turns(one))]})(
                handler
            ),
            "/v2/models/m/versions/1/config": body(CONFIG),
            "/v2/models/m/versions/1/ready": body(""),
        }
        yield one


def turns(server: OddServer) -> int:
    return server.asked.count("/v2/models/stats")


def doctor(server: OddServer, *arguments: str) -> tuple[int, str]:
    parser = ArgumentParser()
    options.add_arguments(parser)
    out = io.StringIO()
    parsed = parser.parse_args([f"--url={server.address}", "--window-s=0.3", *arguments])
    return options.run(parsed, out, io.StringIO()), out.getvalue()


# A server that answers


def test_the_configuration_is_read() -> None:
    assert config_of(CONFIG) == Config(
        backend="python",
        max_batch_size=8,
        instances=5,
        inputs=(Input("IN", "UINT8", (-1,), ragged=True),),
        batching=Batching(
            preferred=(8,),
            delay_s=0.002,
            priority_levels=2,
            default_priority_level=1,
            policies=(Policy(0.1, True, 5, True), Policy(max_queue_size=3)),
        ),
    )


def test_a_configuration_of_nothing_is_the_proto_s() -> None:
    assert config_of({"backend": "onnxruntime"}) == Config(
        "onnxruntime", max_batch_size=0, instances=None, batching=None
    )
    steps = {"ensemble_scheduling": {"step": [{"model_name": "a"}, {"model_name": "b"}]}}
    assert config_of(steps).steps == ("a", "b")
    assert config_of(steps).instances is None
    assert config_of({"sequence_batching": {}}).is_sequence


@pytest.mark.parametrize(
    ("fields", "late"),
    [
        ({}, False),
        ({"policies": (Policy(),)}, False),
        ({"policies": (Policy(max_queue_size=1),)}, True),
        ({"policies": (Policy(timeout_s=1),)}, True),
        ({"policies": (Policy(allow_override=True),)}, True),
        ({"priority_levels": 1}, True),
    ],
)
def test_late_mode(fields: dict[str, Any], late: bool) -> None:
    assert Batching(**fields).late is late


def test_counters_are_read(server: OddServer) -> None:
    assert read_counters(server.url) == {
        M: Counters(
            requests=30,
            failures=1,
            inferences=30,
            executions=15,
            request_s=1.2,
            queue_s=0.3,
            compute_input_s=0.3,
            compute_infer_s=0.3,
            compute_output_s=0.3,
            cache_hits=0,
            sizes={2: Size(15, pytest.approx(0.45))},  # type: ignore[arg-type]
        )
    }


def test_what_an_old_server_does_not_say_is_unknown(server: OddServer) -> None:
    old = row(30)
    del old["batch_stats"], old["inference_stats"]["cache_hit"]
    server.pages["/v2/models/stats"] = body({"model_stats": [old]})
    counters = read_counters(server.url)[M]
    assert counters.sizes is None
    assert counters.cache_hits is None


def test_a_difference_keeps_what_is_new() -> None:
    early = Counters(1, 0, 2, 1, sizes={2: Size(1, 1.0)})
    late = Counters(4, 1, 6, 3, cache_hits=2, sizes={1: Size(0, 0.0), 2: Size(3, 4.0)})
    added = late.since(early)
    assert (added.requests, added.failures, added.executions) == (3, 1, 2)
    assert added.cache_hits == 2
    assert added.sizes == {2: Size(2, 3.0)}
    assert early.is_before(late)
    assert not late.is_before(early)


def test_metrics_are_read() -> None:
    text = """\
# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{model="m",version="1"} 3
nv_inference_pending_request_count{model="n",version="1"} NaN
nv_inference_request_success{gpu_uuid="a",model="m",version="1"} 5
nv_inference_request_success{gpu_uuid="b",model="m",version="1"} 1e1
nv_inference_request_failure{model="m",reason="BACKEND",version="1"} 2
nv_inference_request_failure{model="m",reason="OTHER",version="1"} +Inf
other{model="m"} 7
"""
    assert metrics_of(text) == Metrics({M: 15}, {M: 3}, {M: {"BACKEND": 2}})


def test_the_whole_way(server: OddServer) -> None:
    code, text = doctor(server)
    assert code == 0
    assert "D405 note: rejects-not-counted" in text
    assert "m (version 1): python, 5 instances, max batch 8, delay 2 ms" in text
    assert "mean batch 2.00" in text
    assert "No metrics" in text
    assert max(map(len, text.splitlines())) <= 80
    _, machine = doctor(server, "--json")
    [model] = json.loads(machine)["models"]
    assert model["mean_batch"] == 2
    assert model["failure_reasons"] is None
    assert model["pending_max"] is None


def test_no_traffic_says_what_no_counter_shows(server: OddServer) -> None:
    server.pages["/v2/models/stats"] = body({"model_stats": [row(30)]})
    code, text = doctor(server)
    assert code == 1
    assert "Verdict: none." in text
    assert "INVALID_ARGUMENT" in text


def test_a_model_that_is_not_there(server: OddServer) -> None:
    with pytest.raises(ContractMismatch, match=r"--model x: expected .* among m"):
        doctor(server, "--model=x")


def test_images_that_are_not_there(server: OddServer) -> None:
    with pytest.raises(ContractMismatch, match="--images /nowhere"):
        doctor(server, "--probe=1", "--images=/nowhere")


# Counters that go back


def at(at_s: float, requests: int, metrics: Metrics | None = None) -> Snapshot:
    counters = Counters(requests, 0, requests, requests)
    return Snapshot(at_s, {M: counters}, metrics)


def test_only_what_came_after_a_load_counts() -> None:
    one = stage_of(M, Config(), [at(0, 100), at(1, 110), at(2, 3), at(3, 9)])
    assert one.reloaded
    assert one.seen.requests == 6
    assert one.window_s == 1


def test_a_load_at_the_very_end_leaves_what_came_since() -> None:
    one = stage_of(M, Config(), [at(0, 100), at(1, 110), at(2, 3)])
    assert one.reloaded
    assert one.seen.requests == 3
    assert one.window_s == 1


def test_a_model_that_comes_in_the_window() -> None:
    one = stage_of(M, Config(), [Snapshot(0, {}), at(1, 2), at(2, 5)])
    assert one.reloaded
    assert one.seen.requests == 3


def test_no_load_no_talk_of_one() -> None:
    one = stage_of(M, Config(), [at(0, 100), at(1, 110)])
    assert not one.reloaded
    assert one.seen.requests == 10
    assert one.reasons is None


def test_metrics_of_another_server_are_known_by_their_counts() -> None:
    def pair(metered: int) -> list[Snapshot]:
        return [at(0, 100, Metrics({M: 500})), at(1, 200, Metrics({M: 500 + metered}))]

    assert not are_foreign(pair(97))
    assert are_foreign(pair(0))
    assert are_foreign(pair(1000))
    assert not are_foreign([at(0, 100), at(1, 200)])


def test_metrics_of_another_server_are_not_used(server: OddServer) -> None:
    metrics = 'nv_inference_request_success{model="m",version="1"} 5\n'
    metrics += 'nv_inference_pending_request_count{model="m",version="1"} 9\n'
    server.pages["/metrics"] = body(metrics)
    _, text = doctor(server, f"--metrics-url={server.address}/metrics", "--json")
    found = json.loads(text)
    assert found["metrics_url"] is None
    assert found["foreign_metrics_url"] == f"{server.url}/metrics"
    assert found["models"][0]["pending_max"] is None


# A window


def clock(steps_s: list[float], interrupt_at: int | None = None) -> Clock:
    """One that moves only when it is asked to sleep."""
    now = [0.0]

    def sleep(duration_s: float) -> None:
        steps_s.append(duration_s)
        now[0] += duration_s
        if len(steps_s) == interrupt_at:
            raise KeyboardInterrupt

    return Clock(lambda: now[0], sleep)


def target(server: OddServer, window_s: float = 1.0) -> Target:
    return Target(server.url, None, (), window_s)


def test_a_window_is_sampled_often(server: OddServer) -> None:
    steps_s: list[float] = []
    seen_s: list[float] = []
    result = record(target(server), seen_s.append, clock(steps_s))
    assert sum(steps_s) == pytest.approx(1.0)
    assert len(result.snapshots) == len(steps_s) + 1 == 11
    assert seen_s[-1] == 1.0
    assert not result.interrupted


@pytest.mark.parametrize("after", [1, 5])
def test_ctrl_c_gives_what_was_seen_so_far(server: OddServer, after: int) -> None:
    result = record(target(server), clock=clock([], interrupt_at=after))
    assert result.interrupted
    one = watched(target(server), result)
    assert one.interrupted
    assert 0 < one.window_s < 1
    assert one.stages[0].seen.requests > 0


def failing(server: OddServer, times: int) -> Reply:
    good = server.pages["/v2/models/stats"]

    def reply(handler: Any) -> None:
        bad = 2 <= turns(server) < 2 + times
        (body("", 500) if bad else good)(handler)

    return reply


def test_a_busy_server_may_miss_a_sample(server: OddServer) -> None:
    server.pages["/v2/models/stats"] = failing(server, times=3)
    result = record(target(server), clock=clock([]))
    assert result.missed == 3
    assert len(result.snapshots) == 8


def test_a_server_that_goes_away_is_an_error(server: OddServer) -> None:
    server.pages["/v2/models/stats"] = failing(server, times=99)
    with pytest.raises(ModelUnavailable, match="expected HTTP 200, got 500"):
        record(target(server), clock=clock([]))


@pytest.mark.parametrize("window_s", [0.15, 0.0001])
def test_a_window_that_leaves_one_sample_gets_another(server: OddServer, window_s: float) -> None:
    server.pages["/v2/models/stats"] = failing(server, times=2 if window_s > 0.1 else 0)
    result = record(target(server, window_s), clock=clock([]))
    assert len(result.snapshots) == 2
    assert result.missed == (2 if window_s > 0.1 else 0)


def test_a_stall_over_the_whole_window_is_an_error(server: OddServer) -> None:
    server.pages["/v2/models/stats"] = failing(server, times=3)
    with pytest.raises(ModelUnavailable, match="expected HTTP 200, got 500"):
        record(target(server, 0.15), clock=clock([]))


# Odd servers


def telnet(handler: Any) -> None:
    """Something that a terminal would obey."""
    handler.wfile.write(b"\x1b[31mno HTTP at all\r\n\r\n")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (body("<html>It works!</html>"), "expected Triton's JSON, got b'<html>"),
        (body("[]"), "expected Triton's JSON"),
        (body("[" * 100_000), "expected Triton's JSON"),
        (body({"error": "no"}), "expected Triton's statistics"),
        (body({"model_stats": [{"name": "m"}]}), "expected Triton's statistics"),
        (body({"model_stats": [row(3, inference_count="many")]}), "expected Triton's statistics"),
        (body({"model_stats": [row(3, inference_count=1e999)]}), "expected Triton's statistics"),
        (body({"model_stats": [row(3, inference_count=10**400)]}), "expected Triton's statistics"),
        (body({"model_stats": [row(3, inference_count=-1)]}), "expected Triton's statistics"),
        (body({"error": "statistics\nare off"}, 403), "got 403: statistics are off"),
        (body("", 404), "got 404: HTTP 404"),
        (broken_off, "broke off|IncompleteRead"),
        (hung_up, "closed connection"),
        (no_http, "expected HTTP/1.1, got HTTP/2; this looks like a gRPC port"),
        (telnet, r"\?\[31mno HTTP at all"),
    ],
)
def test_an_odd_server_is_named(server: OddServer, reply: Reply, message: str) -> None:
    server.pages["/v2/models/stats"] = reply
    with pytest.raises(ModelUnavailable, match=message) as found:
        doctor(server)
    assert found.value.exit_code == 3
    assert len(str(found.value)) < 400


def test_a_server_that_says_nothing_can_not_be_watched(
    server: OddServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http.ask, "__defaults__", (None, 0.1, None))
    monkeypatch.setattr(http.get_json, "__defaults__", (0.1,))
    server.pages["/v2/models/stats"] = server.silence
    with pytest.raises(ModelUnavailable, match="no answer within") as found:
        doctor(server)
    assert found.value.exit_code == 3


@pytest.mark.parametrize("how", [OddServer.silence, OddServer.drip])
def test_no_answer_in_time(
    server: OddServer, how: Callable[[OddServer, Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pages["/"] = lambda handler: how(server, handler)
    with pytest.raises(DeadlineExceeded, match=r"no answer within 0\.2 s"):
        http.ask(f"{server.url}/", timeout_s=0.2)


def test_no_answer_is_too_long(server: OddServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BYTES", 2 << 20)
    server.pages["/"] = endless
    with pytest.raises(ModelUnavailable, match="expected at most 2 MiB, got more"):
        http.ask(f"{server.url}/")


def test_nobody_listens() -> None:
    with pytest.raises(ModelUnavailable, match="Connection refused"):
        read_counters(f"http://127.0.0.1:{free_ports(1)[0]}")


@pytest.mark.parametrize("size", ["large", 1e999])
def test_a_configuration_that_is_none(server: OddServer, size: Any) -> None:
    server.pages["/v2/models/m/versions/1/config"] = body({"max_batch_size": size})
    with pytest.raises(ModelUnavailable, match="expected Triton's model configuration"):
        doctor(server)


def test_metrics_that_are_none(server: OddServer) -> None:
    server.pages["/metrics"] = body("<html>Grafana</html>")
    assert read_metrics(f"{server.url}/metrics") is None
    with pytest.raises(ModelUnavailable, match="expected Triton's metrics, got none"):
        doctor(server, f"--metrics-url={server.address}")


def test_the_server_is_asked_before_its_metrics() -> None:
    port, metrics = free_ports(2)
    with pytest.raises(ModelUnavailable, match=f"{port}/v2: .*refused"):
        run_with(f"--url=127.0.0.1:{port}", f"--metrics-url=127.0.0.1:{metrics}")


def run_with(*arguments: str) -> int:
    parser = ArgumentParser()
    options.add_arguments(parser)
    return options.run(parser.parse_args(arguments), io.StringIO(), io.StringIO())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metrics-url=http://:x"], "^--metrics-url http://:x: expected"),
        (["--images=/nowhere"], "--images /nowhere: expected --probe N beside it"),
        (["--probe=257"], "--probe 257: expected at most 256"),
    ],
)
def test_a_command_line_that_means_nothing(
    server: OddServer, arguments: list[str], message: str
) -> None:
    with pytest.raises(ContractMismatch, match=message):
        doctor(server, *arguments)
    assert not server.asked


@pytest.mark.parametrize(
    "url",
    [
        "https://h:8000",
        "h:port",
        "http://",
        "ftp://h",
        "grpc://h:8001",
        "h:8000?x=1",
        "h:8000#x",
        "h:0",
    ],
)
def test_a_url_that_is_none(url: str) -> None:
    parser = ArgumentParser()
    options.add_arguments(parser)
    with pytest.raises(ServingError) as found:
        options.run(parser.parse_args([f"--url={url}"]), io.StringIO(), io.StringIO())
    assert found.value.exit_code == 2


# The probe


def test_the_probe_s_request_fits_the_inputs() -> None:
    inputs = (
        Input("IMAGE", "UINT8", (-1,)),
        Input("SIZE", "FP32", (2, -1)),
        Input("WORDS", "BYTES", (3,)),
        Input("MORE", "INT64", (1,), optional=True),
    )
    request = request_of(replace(Config(), inputs=inputs), b"jpeg")
    header = json.loads(request.body[: request.header_bytes])
    assert [(one["name"], one["shape"]) for one in header["inputs"]] == [
        ("IMAGE", [1, 4]),
        ("SIZE", [1, 2, 1]),
        ("WORDS", [1, 3]),
    ]
    assert request.body[request.header_bytes :] == b"jpeg" + bytes(8) + bytes(12)


def test_the_probe_is_sent_only_when_asked(server: OddServer) -> None:
    server.pages["/v2/models/m/versions/1/infer"] = body({"error": "bad\nluck"}, 500)
    doctor(server)
    assert not any(path.endswith("/infer") for path in server.asked)
    _, text = doctor(server, "--probe=3")
    assert sum(path.endswith("/infer") for path in server.asked) == 4
    assert "probe: one alone failed; 3 at once failed" in text
    assert "answered 4 times: bad luck" in text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_sees_the_progress(server: OddServer, terminal: bool) -> None:
    parser = ArgumentParser()
    options.add_arguments(parser)
    err = Terminal() if terminal else io.StringIO()
    options.run(
        parser.parse_args([f"--url={server.address}", "--window-s=0.3"]), io.StringIO(), err
    )
    assert ("watching" in err.getvalue()) is terminal


def test_the_usual_metrics_port_is_tried(
    server: OddServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def metrics(handler: Any) -> None:
        lines = [
            f'nv_inference_request_success{{model="m",version="1"}} {30 * turns(server)}',
            'nv_inference_pending_request_count{model="m",version="1"} 9',
        ]
        body("\n".join(lines))(handler)

    server.pages["/metrics"] = metrics
    monkeypatch.setattr(address, "METRICS_PORT", int(server.url.rpartition(":")[2]))
    _, text = doctor(server, "--json")
    assert json.loads(text)["metrics_url"] == f"{server.url}/metrics"
    assert json.loads(text)["models"][0]["pending_max"] == 9


def test_a_stage_of_an_ensemble_that_is_asked_for_is_watched_too(server: OddServer) -> None:
    whole = row(30) | {"name": "e"}
    server.pages["/v2/models/stats"] = lambda handler: body(
        {"model_stats": [row(30 * turns(server)), whole | {"inference_count": 30 * turns(server)}]}
    )(handler)
    steps = {"ensemble_scheduling": {"step": [{"model_name": "m"}]}, "max_batch_size": 8}
    server.pages["/v2/models/e/versions/1/config"] = body(steps)
    server.pages["/v2/models/e/versions/1/ready"] = body("")
    _, text = doctor(server, "--model=e", "--json")
    assert [one["model"] for one in json.loads(text)["models"]] == ["e", "m"]

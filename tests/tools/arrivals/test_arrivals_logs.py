"""Access logs as servers write them: the time is found, to the step of the clock that they have."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ensemble.errors import ContractMismatch
from tools.arrivals import logs
from tools.arrivals.stamps import Stamps

EPOCH_S = 1_700_000_000
TIMES_S = (0.0, 0.25, 0.255, 3.5, 3.75)
PATH = "/v2/models/ensemble/infer"


def at(after_s: float, form: str) -> str:
    """A time as ``strftime`` has it; ``%f`` is milliseconds."""
    moment = datetime.fromtimestamp(EPOCH_S + after_s, timezone.utc)
    return moment.strftime(form.replace("%f", f"{moment.microsecond // 1000:03d}"))


def line(after_s: float, server: str) -> str:
    clf = at(after_s, "%d/%b/%Y:%H:%M:%S +0000")
    request = f'"POST {PATH}?x=1 HTTP/1.1"'
    iso = at(after_s, "%Y-%m-%dT%H:%M:%S.%fZ")
    # As their documentation has them.
    return {
        "common": f"127.0.0.1 - frank [{clf}] {request} 200 2326",
        "combined": f'::1 - - [{clf}] {request} 200 1 "http://a/2020-01-01T00:00:00.5Z" "x 1.5"',
        "ingress": f'10.0.0.1 - - [{clf}] {request} 200 612 "-" "curl/7.61" 78 0.001 '
        f"[default-app-80] [] 10.0.0.2:80 612 0.000 200 8ff0d1e7f1f9bd2e2a2b1a9f1b1c1d1e",
        "haproxy": f"Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 "
        f"[{at(after_s, '%d/%b/%Y:%H:%M:%S.%f')}] http-in static/srv1 10/0/30/69/109 200 2750 - - "
        f"---- 1/1/1/1/0 0/0 {{1wt.eu}} {{}} {request}",
        "envoy": f'[{iso}] {request} 200 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc2" "a" "-"',
        "msec": f'10.0.0.1 {EPOCH_S + after_s:.3f} {request} 200 "-" "curl 1699999999.123"',
        "squid": f"{EPOCH_S + after_s:.3f}    106 10.0.0.1 TCP_MISS/200 1 GET http://a/ - DIRECT/-",
        "logfmt": f'time="{iso}" level=info method=POST path={PATH}',
        "w3c": at(after_s, "%Y-%m-%d %H:%M:%S") + f" 10.0.0.1 POST {PATH} - 80 200",
        "container": f"{iso} stdout F 10.0.0.1 - - [{clf}] {request} 200 2326",
        "offset": f"[{iso[:-1]}+05:30] {request} 200",
    }[server]


WHOLE_SECONDS = ("common", "combined", "ingress", "w3c")
SERVERS = (*WHOLE_SECONDS, "haproxy", "envoy", "msec", "squid", "logfmt", "container", "offset")


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{one}\n" for one in lines))
    return path


def read(*files: Path, path: str | None = None, time_field: str | None = None) -> Stamps:
    return logs.read(files, path, time_field, lambda _: None)


@pytest.mark.parametrize("server", SERVERS)
def test_a_line_of_each_server_has_its_time(tmp_path: Path, server: str) -> None:
    stamps = read(written(tmp_path / "log", [line(at_s, server) for at_s in TIMES_S]))
    coarse = server in WHOLE_SECONDS
    assert stamps.resolution_s == (1.0 if coarse else 0.001)
    expected = np.floor(TIMES_S) if coarse else np.array(TIMES_S)
    # Seconds since 1970 in 64 bits have steps of a quarter of a microsecond.
    np.testing.assert_allclose(stamps.arrivals.times_s, expected, atol=1e-6)
    remark = "whole seconds" if coarse else "times are as logged"
    assert any(remark in one for one in stamps.remarks)


@pytest.mark.parametrize("server", ["combined", "haproxy", "envoy", "msec", "container"])
def test_only_requests_to_the_path_count(tmp_path: Path, server: str) -> None:
    lines = [line(at_s, server) for at_s in TIMES_S]
    lines += [line(9.0, server).replace(PATH, "/healthz"), line(10.0, server)[:30]]
    file = written(tmp_path / "log", lines)
    for path in (PATH, "/v2"):
        stamps = read(file, path=path)
        assert len(stamps.times_s) == len(TIMES_S)
        assert stamps.remarks[0] == "left out: 2 lines of other paths"
    with pytest.raises(ContractMismatch, match="requests to /no, got 7 lines of other paths"):
        read(file, path="/no")


def json_lines(*names: str, **more: Any) -> list[str]:
    """Each named field with the time in it, as numbers or text."""
    values: dict[str, Callable[[float], object]] = {
        "start_time": lambda after_s: at(after_s, "%Y-%m-%dT%H:%M:%S.%fZ"),
        "StartUTC": lambda after_s: at(after_s, "%Y-%m-%dT%H:%M:%S.%f250Z"),
        "msec": lambda after_s: f"{EPOCH_S + after_s:.3f}",
        "ts": lambda after_s: EPOCH_S + after_s,
        "time": lambda after_s: round(1e3 * (EPOCH_S + after_s)),
        "timestamp": lambda after_s: round(1e9 * (EPOCH_S + after_s)),
        "time_iso8601": lambda after_s: at(after_s, "%Y-%m-%dT%H:%M:%S+00:00"),
        "time_local": lambda after_s: at(after_s, "%d/%b/%Y:%H:%M:%S +0000"),
    }
    return [json.dumps({name: values[name](at_s) for name in names} | more) for at_s in TIMES_S]


@pytest.mark.parametrize(
    ("names", "resolution_s"),
    [
        (("start_time",), 1e-3),
        (("StartUTC",), 1e-6),
        (("msec",), 1e-3),
        (("ts",), 1e-3),
        (("time",), 1e-3),
        (("timestamp",), 1e-3),
        (("time_iso8601",), 1.0),
        (("time_local",), 1.0),
        (("time_iso8601", "msec", "time_local"), 1e-3),
    ],
)
def test_json_lines_have_their_time_under_the_names_that_servers_give_it(
    tmp_path: Path, names: tuple[str, ...], resolution_s: float
) -> None:
    stamps = read(written(tmp_path / "log", json_lines(*names)))
    assert stamps.resolution_s == resolution_s
    expected = np.floor(TIMES_S) if resolution_s == 1.0 else np.array(TIMES_S)
    np.testing.assert_allclose(stamps.arrivals.times_s, expected, atol=2e-6)


@pytest.mark.parametrize(("name", "duration"), [("msec", "request_time"), ("ts", "duration")])
def test_what_a_request_took_is_taken_off_where_its_end_was_logged(
    tmp_path: Path, name: str, duration: str
) -> None:
    """The last began first."""
    lines = [*json_lines(name)[:-1], json_lines(name, **{duration: "3.700"})[-1]]
    lines = [text.replace("}", f', "{duration}": 0}}') for text in lines[:-1]] + lines[-1:]
    stamps = read(written(tmp_path / "log", lines))
    np.testing.assert_allclose(stamps.arrivals.times_s, [0, 0.05, 0.25, 0.255, 3.5], atol=1e-6)
    assert stamps.remarks == (f"{duration} was taken off the logged time",)


def test_the_start_of_a_request_is_taken_as_it_is(tmp_path: Path) -> None:
    stamps = read(written(tmp_path / "log", json_lines("start_time", "ts", duration=3.0)))
    np.testing.assert_allclose(stamps.arrivals.times_s, TIMES_S, atol=1e-6)
    assert stamps.remarks == ()


def test_from_whole_seconds_no_duration_is_taken_off(tmp_path: Path) -> None:
    stamps = read(written(tmp_path / "log", json_lines("time_iso8601", request_time="0.7")))
    assert stamps.arrivals.times_s.tolist() == [0, 0, 0, 3, 3]


def test_a_field_can_be_named_and_lie_deep(tmp_path: Path) -> None:
    lines = [json.dumps({"a": {"b": at_s + EPOCH_S}, "ts": 1e9}) for at_s in TIMES_S]
    stamps = read(written(tmp_path / "log", lines), time_field="a.b")
    np.testing.assert_allclose(stamps.arrivals.times_s, TIMES_S, atol=1e-6)
    with pytest.raises(ContractMismatch, match=r"a time in a\.c, got"):
        read(tmp_path / "log", time_field="a.c")


@pytest.mark.parametrize(
    "fields",
    [
        {"path": PATH},
        {"request_uri": f"{PATH}?x=1"},
        {"request": f"POST {PATH} HTTP/1.1"},
        {"request": {"uri": PATH}},
        {"url": f"https://host:8000{PATH}"},
    ],
)
def test_json_lines_have_their_path_too(tmp_path: Path, fields: dict[str, Any]) -> None:
    lines = json_lines("ts", **fields) + json_lines("ts", path="/healthz") + json_lines("ts")
    stamps = read(written(tmp_path / "log", lines), path=PATH)
    assert len(stamps.times_s) == len(TIMES_S)
    assert stamps.remarks[0] == "left out: 10 lines of other paths"


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    good = [line(at_s, "envoy").encode() for at_s in TIMES_S]
    bad = [b"\xff\xfe\x00", b"[2023-99-99T00:00:00.5Z] x", b"x" * 300_000, b'{"ts": "NaN"}']
    skipped = [b"", b"   ", b"# a comment 2020-01-01T00:00:00Z"]
    (tmp_path / "log").write_bytes(b"\n".join([*good, *bad, *skipped, good[0]]))
    stamps = read(tmp_path / "log")
    assert len(stamps.times_s) == 6
    assert stamps.remarks[0] == "left out: 4 lines without a time"


@pytest.mark.parametrize(
    "content", [b"", b"\n\n#x\n", b"hello\n", b"\0" * 100_000, b"{" * 10_000, b'{"ts": true}\n']
)
def test_what_is_no_log_is_refused_with_its_first_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(ContractMismatch, match="log: expected an access log with a time, got") as e:
        read(tmp_path / "log")
    assert str(e.value).isprintable()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, 0, 10**400, "1e400", None, []])
def test_a_number_that_is_no_time_is_none(tmp_path: Path, value: object) -> None:
    lines = [*json_lines("ts"), json.dumps({"ts": value})]
    stamps = read(written(tmp_path / "log", lines))
    assert len(stamps.times_s) == len(TIMES_S)
    assert stamps.remarks[0] == "left out: 1 lines without a time"


def test_several_logs_are_one_recording_and_gzip_is_read(tmp_path: Path) -> None:
    lines = [line(at_s, "envoy") for at_s in TIMES_S]
    (tmp_path / "log.1.gz").write_bytes(gzip.compress("\n".join(lines[:3]).encode()))
    newer = written(tmp_path / "log", lines[3:])
    stamps = read(newer, tmp_path / "log.1.gz")
    np.testing.assert_allclose(stamps.arrivals.times_s, TIMES_S, atol=1e-6)
    assert stamps.source == "log log, log.1.gz"


def test_a_log_that_is_empty_beside_others_is_no_fault(tmp_path: Path) -> None:
    file = written(tmp_path / "log.1", [line(at_s, "envoy") for at_s in TIMES_S])
    assert len(read(written(tmp_path / "log", []), file).times_s) == len(TIMES_S)


def test_a_clock_of_hundredths_is_seen(tmp_path: Path) -> None:
    times_s = np.round(np.arange(0, 9, 0.37), 2)
    lines = [line(at_s, "msec") for at_s in times_s]
    assert read(written(tmp_path / "log", lines)).resolution_s == 0.01


def test_gzip_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    lines = "\n".join(line(at_s, "envoy") for at_s in np.arange(1000) / 7)
    (tmp_path / "log.gz").write_bytes(gzip.compress(lines.encode())[:-20])
    with pytest.raises(ContractMismatch, match="expected whole gzip"):
        read(tmp_path / "log.gz")


def test_the_bytes_read_are_told_to_the_progress_bar(tmp_path: Path) -> None:
    file = written(tmp_path / "log", [line(at_s, "envoy") for at_s in TIMES_S] * 1000)
    told: list[int] = []
    logs.read([file], None, None, told.append)
    assert sum(told) == file.stat().st_size


def test_arrivals_at_one_time_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path / "log", [line(1.0, "common")] * 9)
    with pytest.raises(ContractMismatch, match="at two times or more, got 9 at one"):
        _ = read(file).arrivals

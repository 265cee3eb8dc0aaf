"""What perf_analyzer is told, and what it can't be told."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ensemble.errors import ContractMismatch
from tools.load.loads import ClosedLoop, OpenLoop, RequestClass, Run
from tools.perf_analyzer.command import arguments, check_fits, intervals_microseconds, write_files

ONE = RequestClass([b"\xff\xd8a", b"\xff\xd8longer"])
CLOSED = Run("grpc", "h:8001", "ensemble", ClosedLoop(8), 3.6, (ONE,))
OPEN = replace(CLOSED, loop=OpenLoop(np.array([0.25, 0.25, 1.0])))


def told(run: Run) -> str:
    return " ".join(arguments(run, Path("/x")))


def test_a_closed_loop_is_three_windows_of_the_duration() -> None:
    words = told(CLOSED)
    assert words.startswith("-m ensemble -u h:8001 -i grpc --async --input-data /x/input.json")
    assert "--concurrency-range 8 --measurement-interval 1000 --max-trials 3" in words
    assert "--request" not in words


def test_an_open_loop_is_its_schedule() -> None:
    assert told(OPEN).endswith("--request-intervals /x/intervals.txt --request-count 3")
    assert "concurrency" not in told(OPEN)


def test_priority_and_timeout_are_parameters() -> None:
    run = replace(CLOSED, mix=(replace(ONE, priority=1, timeout_ms=2.5),))
    assert "--request-parameter priority:1:int --request-parameter timeout:2500:int" in told(run)


def test_intervals_add_up_to_the_schedule() -> None:
    due_s = np.cumsum(np.full(30_000, 1 / 3e3))
    found = intervals_microseconds(OpenLoop(due_s))
    assert abs(found.sum() / 1e6 - due_s[-1]) <= 1e-6
    assert set(found.tolist()) == {333, 334}


def test_the_files_hold_images_and_schedule(tmp_path: Path) -> None:
    write_files(OPEN, tmp_path)
    assert (tmp_path / "intervals.txt").read_text().split() == ["250000", "0", "750000"]
    data = json.loads((tmp_path / "input.json").read_text())["data"]
    assert [base64.b64decode(one["IMAGE"]["content"]["b64"]) for one in data] == ONE.images
    assert [one["IMAGE"]["shape"] for one in data] == [[3], [8]]


def test_images_of_one_request_are_of_one_length(tmp_path: Path) -> None:
    run = replace(CLOSED, mix=(replace(ONE, rows=2),))
    write_files(run, tmp_path)
    data = json.loads((tmp_path / "input.json").read_text())["data"]
    assert [one["IMAGE"]["shape"] for one in data] == [[8], [8]]
    assert base64.b64decode(data[0]["IMAGE"]["content"]["b64"]) == b"\xff\xd8a" + bytes(5)
    assert "-b 2" in told(run)


def test_a_mix_is_more_than_it_can_send() -> None:
    with pytest.raises(ContractMismatch, match=r"expected one class, .* got all, other"):
        check_fits([ONE, replace(ONE, name="other")], ["grpc"])


def test_parameters_go_over_grpc_only() -> None:
    urgent = replace(ONE, timeout_ms=5)
    check_fits([urgent], ["grpc"])
    check_fits([ONE], ["grpc", "http"])
    with pytest.raises(ContractMismatch, match="expected --protocol grpc for a class with"):
        check_fits([urgent], ["grpc", "http"])

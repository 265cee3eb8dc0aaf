"""perf_analyzer's export becomes samples, and what it leaves out is left out, not made up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ensemble.errors import BackendFailure
from tools.perf_analyzer.export import Requests, read_export, scheduled, steady

START_NS = 1_800_000_000_000_000_000
"""Of the wall clock, whose nanoseconds are more than a float can hold."""


def export(path: Path, pairs_ns: Sequence[tuple[int, int]], **fields: Any) -> Path:
    requests = [
        {"timestamp": START_NS + sent, "response_timestamps": [START_NS + answered]}
        for sent, answered in pairs_ns
    ]
    known = {"window_boundaries": [START_NS, START_NS + 10**9], "requests": requests}
    path.write_text(json.dumps({"experiments": [known | fields], "version": "2.48.0"}))
    return path


def closed(callers: int, service_s: float, end_s: float) -> Requests:
    """Each caller sends again at once; what is under way at the end is not listed."""
    starts = [
        caller * 1e-3 + turn * service_s
        for caller in range(callers)
        for turn in range(int((end_s - caller * 1e-3) / service_s))
    ]
    sent_s = np.array(sorted(starts))
    return Requests(sent_s, sent_s + service_s)


def test_times_are_seconds_from_the_first_window(tmp_path: Path) -> None:
    found = read_export(export(tmp_path / "e", [(2_000_123, 5_000_456), (1_000_000, 9_000_000)]))
    assert found.sent_s.tolist() == [0.001, 0.002000123]
    assert found.answered_s.tolist() == [0.009, 0.005000456]


def test_outputs_that_are_no_text_are_no_obstacle(tmp_path: Path) -> None:
    path = export(tmp_path / "e", [(0, 1000)], note="HERE")
    path.write_bytes(path.read_bytes().replace(b"HERE", b"\xff\xbc\x01 raw"))
    assert len(read_export(path)) == 1


def test_a_request_without_an_answer_is_not_listed(tmp_path: Path) -> None:
    lone = {"timestamp": START_NS, "response_timestamps": []}
    assert len(read_export(export(tmp_path / "e", [], requests=[lone]))) == 0


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"experiments": []}',
        '{"experiments": [{"requests": 3}]}',
        '{"experiments": [{"window_boundaries": [1e999], "requests": []}]}',
        "[1]",
        "[" * 100_000,
    ],
)
def test_what_is_no_export_is_said_to_be_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "e").write_text(content)
    with pytest.raises(BackendFailure, match="perf_analyzer's export: expected requests"):
        read_export(tmp_path / "e")


def test_an_export_that_is_not_there() -> None:
    with pytest.raises(BackendFailure, match="expected requests, got FileNotFoundError"):
        read_export(Path("/nowhere/export.json"))


# An open loop


def test_latency_counts_from_the_schedule() -> None:
    due_s = np.array([0.1, 0.2, 0.3])
    requests = Requests(np.array([0.1, 0.5, 0.5]), np.array([0.5, 0.6, 0.7]))
    samples = scheduled(requests, due_s)
    assert samples.due_s.tolist() == due_s.tolist()
    assert samples.late_s == pytest.approx([0.0, 0.3, 0.2])
    assert samples.latency_s == pytest.approx([0.4, 0.4, 0.4])
    assert samples.errors() == {}


def test_a_request_is_never_early() -> None:
    samples = scheduled(Requests(np.array([0.0999]), np.array([0.2])), np.array([0.1]))
    assert samples.late_s.tolist() == [0.0]


def test_requests_that_are_missing_are_not_passed_over() -> None:
    with pytest.raises(BackendFailure, match="expected 2 requests, got 1"):
        scheduled(Requests(np.zeros(1), np.ones(1)), np.zeros(2))


# A closed loop


def test_what_was_sent_while_some_are_unlisted_does_not_count() -> None:
    found = steady(closed(callers=2, service_s=0.1, end_s=1.05), callers=2)
    # The first caller's last request is sent at 1.0 s and not listed.
    assert found.duration_s == pytest.approx(1.0)
    assert len(found.samples) == 20
    assert found.unlisted == 2
    assert found.samples.latency_s == pytest.approx(np.full(20, 0.1))
    assert len(found.samples) / found.duration_s == pytest.approx(20)


def test_slow_requests_at_the_end_do_not_flatter() -> None:
    """The second caller's last one is not listed: what counts ends when it began."""
    one = np.arange(0, 2.0, 0.1)
    other = np.arange(0.005, 1.0, 0.1)
    sent_s = np.sort(np.concatenate([one, other]))
    found = steady(Requests(sent_s, sent_s + 0.099), callers=2)  # a caller takes 1 ms in between
    assert found.duration_s == pytest.approx(1.004)  # when the second caller had its last answer
    assert len(found.samples) + found.unlisted == len(sent_s) + 2


def test_too_short_a_run_says_so() -> None:
    with pytest.raises(BackendFailure, match="expected 8 requests at a time, got 3 in all"):
        steady(Requests(np.zeros(3), np.ones(3)), callers=8)


def test_nothing_at_all_is_no_closed_loop() -> None:
    with pytest.raises(BackendFailure, match="expected 1 requests at a time, got 0"):
        steady(Requests(np.zeros(0), np.zeros(0)), callers=1)

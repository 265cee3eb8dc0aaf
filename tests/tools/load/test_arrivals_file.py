"""Arrivals come back from their file as they were, and what holds none is refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ensemble.errors import ContractMismatch
from tools.load import arrivals_file
from tools.load.arrivals_file import Arrivals, read, write

GOOD: dict[str, Any] = {
    "format": "tandem-arrivals",
    "version": 1,
    "duration_s": 2.0,
    "times_s": [0, 0.5, 0.5],
}


def test_arrivals_come_back_to_the_microsecond(tmp_path: Path) -> None:
    times_s = np.sort(np.random.default_rng(0).uniform(0, 3600, 25_000))  # more than two chunks
    write(Arrivals(times_s, 3600.0, "a log", 0.001), tmp_path / "deep" / "a.json")
    back = read(tmp_path / "deep" / "a.json")
    np.testing.assert_allclose(back.times_s, times_s, atol=1.001e-6)  # cut to microseconds
    assert (back.duration_s, back.source, back.resolution_s) == (3600.0, "a log", 0.001)
    assert back.rate_per_s == pytest.approx(25_000 / 3600)
    assert [one.name for one in (tmp_path / "deep").iterdir()] == ["a.json"]


def test_an_arrival_just_before_the_end_stays_before_it(tmp_path: Path) -> None:
    write(Arrivals(np.array([0.0, np.nextafter(1.0, 0)]), 1.0), tmp_path / "a.json")
    assert read(tmp_path / "a.json").times_s[-1] < 1.0


def test_a_file_written_by_hand_needs_four_fields(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(GOOD))
    assert read(tmp_path / "a.json").times_s.tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format": "other"}, "expected tandem-arrivals version 1, got .'other', 1"),
        ({"version": 2}, "expected tandem-arrivals version 1"),
        ({"times_s": []}, "expected 1 to 10000000 arrivals, got 0"),
        ({"times_s": [0, float("nan")]}, "one that is no number"),
        ({"times_s": [0, float("inf")]}, "one that is no number"),
        ({"times_s": [-1, 0]}, "expected times from 0, got -1"),
        ({"times_s": [0, 1, 0.5]}, "expected ascending times, got 0.5 after 1"),
        ({"times_s": [0, 2.0]}, "expected duration_s above the last arrival at 2 s, got 2"),
        ({"times_s": [[0, 1]]}, "got 2 dimensions"),
        ({"times_s": [0, [1]]}, "expected arrivals, got ValueError"),
        ({"times_s": None}, "got 0 dimensions"),
        ({"times_s": ["x"]}, "expected arrivals, got ValueError"),
        ({"times_s": [10**400]}, "expected arrivals, got OverflowError"),
        ({"times_s": {"a": 1}}, "expected arrivals, got TypeError"),
        ({"duration_s": float("nan")}, "expected duration_s above"),
        ({"duration_s": float("inf")}, "expected duration_s above"),
        ({"duration_s": None}, "expected arrivals, got TypeError"),
    ],
)
def test_what_holds_no_arrivals_is_refused(
    tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(GOOD | changed))
    with pytest.raises(ContractMismatch, match=words) as caught:
        read(tmp_path / "a.json")
    assert str(caught.value).startswith(str(tmp_path / "a.json"))


@pytest.mark.parametrize("missing", ["duration_s", "times_s"])
def test_a_missing_field_is_named(tmp_path: Path, missing: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps({k: v for k, v in GOOD.items() if k != missing}))
    with pytest.raises(ContractMismatch, match=f"KeyError.'{missing}'"):
        read(tmp_path / "a.json")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\xff\xfe", b'{"format":', b"[" * 100_000, b"null", b"\0" * 10]
)
def test_what_is_no_json_object_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ContractMismatch, match="expected"):
        read(tmp_path / "a.json")


def test_a_huge_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals_file, "MAX_BYTES", 10)
    (tmp_path / "a.json").write_text(json.dumps(GOOD))
    with pytest.raises(ContractMismatch, match="expected at most 10 bytes, got"):
        read(tmp_path / "a.json")

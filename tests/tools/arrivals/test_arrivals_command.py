"""The verb: what it prints, what it writes, and that ``bench`` plays the same arrivals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tools.arrivals.test_arrivals_logs import line, written
from tools.arrivals import logs, stamps
from tools.cli import main
from tools.load.arrivals import Bursty, Constant, Pattern, Poisson, pattern
from tools.load.arrivals_file import Arrivals, read
from tools.record.record import Cell, Load, Record, Target, write
from tools.record.samples import Samples


def log(path: Path, times_s: Any, server: str = "envoy") -> Path:
    return written(path, [line(at_s, server) for at_s in times_s])


def drawn(of: Pattern, rate_per_s: float = 50.0, duration_s: float = 60.0) -> Any:
    return of.times_s(rate_per_s, duration_s, np.random.default_rng(0))


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["arrivals", *arguments, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize(
    ("of", "kind", "words"),
    [
        (Constant(), "uniform", "do not meet while an instance is free"),
        (Poisson(), "poisson-like", "Independent requests"),
        (Bursty(), "bursty", "Requests of a burst queue"),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_the_report_says_kind_evidence_and_meaning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], of: Pattern, kind: str, words: str
) -> None:
    file = log(tmp_path / "log", drawn(of))
    facts = as_json(capsys, "--log", str(file))
    assert facts["kind"] == kind
    assert facts["rate_per_s"] == pytest.approx(50, rel=0.15)
    assert any(words in text for text in facts["advice"])
    assert main(["arrivals", "--log", str(file)]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    for part in (facts["verdict"], facts["evidence"], words, "Gaps between", "Counts in windows"):
        assert " ".join(part.split()) in flat
    assert ("bursts hold" in flat) == (kind == "bursty")


def test_groups_are_told_with_their_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = as_json(
        capsys, "--log", str(log(tmp_path / "log", np.repeat(drawn(Poisson(), 5.0), 8)))
    )
    assert (facts["kind"], facts["kind_of_groups"]) == ("grouped", "poisson-like")
    assert facts["group"]["usual_size"] == 8
    assert "preferred_batch_size [8]" in facts["advice"][0]


@pytest.mark.parametrize("server", ["envoy", "common"])
def test_too_few_are_no_verdict_and_no_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], server: str
) -> None:
    file = log(tmp_path / "log", [0.0, 1.0, 5.0], server)
    facts = as_json(capsys, "--log", str(file))
    assert (facts["kind"], facts["drift"], facts["scales"]) == ("too-few", None, [])
    assert len(facts["advice"]) == 1
    assert main(["arrivals", "--log", str(file)]) == 0
    assert "Too few to tell" in capsys.readouterr().out


def test_what_is_written_is_what_bench_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times_s, out = np.repeat(drawn(Poisson(), 5.0), 8), tmp_path / "deep" / "mine.json"
    arguments = ["arrivals", "--log", str(log(tmp_path / "log", times_s)), "--out", str(out)]
    assert main(arguments) == 0
    assert f"{out}: {len(times_s)} arrivals; log log\n" in capsys.readouterr().err
    played = pattern(str(out))
    assert played.name == "mine.json"
    got_s = played.times_s(None, read(out).duration_s, np.random.default_rng(1))
    expected_s = np.floor(1e3 * (times_s - times_s[0] + times_s[0] % 1e-3)) / 1e3
    np.testing.assert_allclose(got_s, expected_s, atol=2e-3)  # the log has milliseconds
    faster_s = played.times_s(2 * read(out).rate_per_s, 5.0, np.random.default_rng(1))
    np.testing.assert_allclose(faster_s, got_s[: len(faster_s)] / 2)


def test_stamps_of_a_coarse_clock_are_spread_over_its_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or all requests of a second would come at its beginning."""
    file = log(tmp_path / "log", drawn(Poisson(), 50.0, 300.0), "common")
    found: list[Arrivals] = []
    for seed in ("1", "1", "2"):
        out = tmp_path / f"{len(found)}.json"
        assert main(["arrivals", "--log", str(file), "--out", str(out), "--seed", seed]) == 0
        found.append(read(out))
    assert "at random within 1 s each" in capsys.readouterr().err
    one, same, other = (arrivals.times_s for arrivals in found)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert len(np.unique(one.astype(int))) == 300
    assert (one % 1).std() == pytest.approx(1 / 12**0.5, abs=0.01)  # uniform; of 15,000


def record(path: Path, *loads: Load) -> Path:
    due_s = drawn(Poisson(), 20.0, 30.0)
    zeros = np.zeros(len(due_s))
    samples = Samples(due_s, zeros, zeros + 0.01, zeros.astype(np.int64), zeros.astype(np.int64))
    cells = tuple(Cell(0, "a", load, "grpc", 30.0, samples) for load in loads)
    target = Target("a", "triton 2.51.0", "ensemble")
    write(Record("bench", "", {}, (), "tandem", 0, None, (), (target,), cells), path)
    return path


OPEN, CLOSED = Load("open", 20.0, "poisson"), Load("closed", 4.0)


def test_a_record_gives_what_its_open_loop_was_due(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(record(tmp_path / "r.json", CLOSED, OPEN, OPEN))
    facts = as_json(capsys, "--record", file)
    assert facts["source"] == "record r.json, cell 2: '20/s poisson' on 'a'"
    assert facts["remarks"] == ["1 other open-loop cells (--cell)"]
    assert facts["kind"] == "poisson-like"
    assert "cell 3" in as_json(capsys, "--record", file, "--cell", "3")["source"]


@pytest.mark.parametrize(
    ("loads", "cell", "words"),
    [
        ((CLOSED,), (), "expected a cell with an open loop, got 0 of them in 1 cells"),
        ((), (), "got 0 of them in 0 cells"),
        ((CLOSED, OPEN), ("--cell", "1"), "expected cell 1 to be a cell with an open loop"),
        ((OPEN,), ("--cell", "7"), "expected cell 7"),
    ],
)
def test_a_record_without_such_a_cell_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    loads: tuple[Load, ...],
    cell: tuple[str, ...],
    words: str,
) -> None:
    assert main(["arrivals", "--record", str(record(tmp_path / "r.json", *loads)), *cell]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--log", "{}/no"], "No such file"),
        (["--trace", "{}/no"], "expected a trace file"),
        (["--record", "{}/no"], "No such file"),
        (["--log", "{}"], "Is a directory"),
        (["--trace", "{}"], "expected a trace file"),
        (["--log", "{}/log", "--model", "m"], "--model: expected --trace beside it, got --log"),
        (["--log", "{}/log", "--cell", "1"], "--cell: expected --record"),
        (["--trace", "{}/log", "--path", "/v2"], "--path: expected --log"),
        (["--record", "{}/log", "--time-field", "t"], "--time-field: expected --log"),
        (["--record", "{}/log"], "expected a record in JSON"),
        (["--log", "{}/log", "--out", "{}/log/x"], "log"),
    ],
)
def test_a_wrong_command_line_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    log(tmp_path / "log", drawn(Poisson()))
    assert main(["arrivals", *(one.format(tmp_path) for one in arguments)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


def test_more_than_a_file_may_hold_is_cut_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "MAX_ARRIVALS", 1000)
    facts = as_json(capsys, "--log", str(log(tmp_path / "log", drawn(Constant()))))
    assert facts["arrivals"] == 1000
    assert facts["remarks"][-1] == "only the first 1000 of 3000 are used"


def test_an_interrupted_reading_says_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(logs, "read", interrupted)
    assert main(["arrivals", "--log", str(log(tmp_path / "log", [0.0, 1.0]))]) == 130
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arguments", [[], ["--log", "a", "--trace", "b"], ["--log"]])
def test_one_source_has_to_be_named(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["arrivals", *arguments])
    assert caught.value.code == 2

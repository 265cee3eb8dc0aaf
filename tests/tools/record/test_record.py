"""A record comes back from its file as it was, and what is no record is refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ensemble.errors import ContractMismatch
from tools.record.record import Cell, Kind, Load, Record, StageCounts, Target, WarmUp, read, write
from tools.record.samples import OUTCOMES, Samples


def samples(failed: tuple[int, ...] = (), kinds: int = 1) -> Samples:
    outcome = np.zeros(4, np.int64)
    outcome[list(failed)] = OUTCOMES.index("too_busy")
    return Samples(
        np.array([0.0, 0.01, 0.02, 0.5]),
        np.array([0.0, 0.0005, 0.0, 0.0]),
        np.array([0.02, 0.0301, 0.001, 0.9999]),
        outcome,
        np.arange(4) % kinds,
    )


def record(*cells: Cell) -> Record:
    target = Target("a", "triton 2.51.0", "ensemble", "baseline", {"m": {"name": "m"}}, ("m",))
    warm = Target("b", "triton 2.51.0", "ensemble", warm_up=(WarmUp(8, 100.0, 20.0),))
    return Record(
        kind="bench",
        created="2026-11-30T20:00:00Z",
        origin={"machine": {"cores": 2}},
        command=("tandem", "bench"),
        engine="tandem",
        seed=1,
        slo_p95_ms=50.0,
        mix=(Kind(), Kind("urgent", 0.5, 1)),
        targets=(target, warm),
        cells=cells,
    )


def cell(of: Samples) -> Cell:
    stage = StageCounts("m", 4, 0, 4, 2, 1.0, 0.5, 0.1, 0.3, 0.1, {1: (1, 0.1), 3: (1, 0.2)})
    return Cell(0, "a", Load("open", 20.0, "poisson"), "grpc", 1.0, of, (stage,))


@pytest.mark.parametrize("of", [samples(), samples((1, 3)), samples((0,), kinds=2)])
def test_a_record_comes_back_as_it_was(tmp_path: Path, of: Samples) -> None:
    path = tmp_path / "deep" / "record.json"
    written = record(cell(of), cell(of))
    write(written, path)
    back = read(path)
    assert back.targets == written.targets
    assert back.mix == written.mix
    for one, other in zip(back.cells, written.cells, strict=True):
        assert (one.load, one.stages, one.resources) == (other.load, other.stages, other.resources)
        for column in ("due_s", "late_s", "latency_s", "outcome", "kind"):
            got, expected = getattr(one.samples, column), getattr(other.samples, column)
            np.testing.assert_allclose(got, expected, atol=5e-7)  # microseconds are kept
    assert [path.name] == [p.name for p in path.parent.iterdir()]


def test_a_record_without_cells_comes_back(tmp_path: Path) -> None:
    write(record(), tmp_path / "r.json")
    assert read(tmp_path / "r.json").cells == ()


def test_errors_are_counted_by_cause() -> None:
    assert samples((1, 3)).errors() == {"too_busy": 2}
    assert samples().errors() == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a record in JSON"),
        ("[" * 100_000, "expected a record in JSON, got maximum recursion"),
        ("[]", "expected tandem-record version 1, got None"),
        ('{"format": "tandem-record", "version": 2}', "version 1, got"),
        ('{"format": "tandem-record", "version": 1}', "expected a record, got KeyError"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(ContractMismatch, match=words):
        read(path)


def test_columns_of_two_lengths_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write(record(cell(samples())), path)
    fields = json.loads(path.read_text())
    fields["cells"][0]["samples"]["latency_ms"].pop()
    path.write_text(json.dumps(fields))
    with pytest.raises(ContractMismatch, match="expected 4 values in every column"):
        read(path)


def test_a_load_names_itself() -> None:
    assert Load("closed", 1).label == "1 caller"
    assert Load("closed", 16).label == "16 callers"
    assert Load("open", 120, "poisson").label == "120/s poisson"

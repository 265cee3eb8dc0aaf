"""What a file gives in place of a number or a name is refused where it is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ensemble.errors import ContractMismatch
from tests.fakes.records import CLOSED, record
from tools.record.record import read, write
from tools.record.shape import misfits

Change = Callable[[dict[str, Any]], None]


def changed(path: Path, change: Change) -> Path:
    write(record(loads=CLOSED[:1], rounds=1, duration_s=0.2), path)
    fields = json.loads(path.read_text())
    change(fields)
    path.write_text(json.dumps(fields))
    return path


def test_what_was_written_fits() -> None:
    assert list(misfits(record(loads=CLOSED[:1], rounds=1, duration_s=0.2))) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.update(engine=None), "Record.engine: expected str, got None"),
        (lambda r: r.update(seed=1.5), "Record.seed: expected int, got 1.5"),
        (lambda r: r.update(seed=True), "Record.seed: expected int, got True"),
        (lambda r: r.update(seed=10**30), "Record.seed: expected int"),
        (lambda r: r.update(slo_p95_ms="50"), "Record.slo_p95_ms: expected float"),
        (lambda r: r.update(origin=[]), "Record.origin: expected Mapping"),
        (lambda r: r.update(command=["a", 1]), "Record.command: expected tuple"),
        (lambda r: r["targets"][0].update(name=1), "Target.name: expected str, got 1"),
        (lambda r: r["cells"][0]["load"].update(value="4"), "Load.value: expected float"),
        (lambda r: r["cells"][0].update(unused={}), "Cell.unused: expected str"),
        (
            lambda r: r["cells"][0]["stages"][0].update(queue_s=[]),
            "StageCounts.queue_s: expected float",
        ),
        (
            lambda r: r["cells"][0]["stages"][0].update(sizes={"1": [float("inf"), 0.0]}),
            "expected a record, got OverflowError",
        ),
        (
            lambda r: r["cells"][0]["samples"].update(due_ms=[[1.0]], latency_ms=[[1.0]]),
            "expected 1 values in every column",
        ),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, change: Change, words: str) -> None:
    with pytest.raises(ContractMismatch, match=words):
        read(changed(tmp_path / "r.json", change))


def test_a_whole_number_will_do_for_a_time(tmp_path: Path) -> None:
    path = changed(tmp_path / "r.json", lambda r: r.update(slo_p95_ms=50))
    assert read(path).slo_p95_ms == 50

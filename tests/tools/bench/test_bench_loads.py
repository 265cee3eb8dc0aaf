"""What --load and --arrivals mean, and what they can't."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ensemble.errors import ContractMismatch
from tools.bench.loads import loads_of
from tools.load.loads import ClosedLoop, OpenLoop
from tools.record.record import Load


def values(*texts: str, points: int = 4, arrivals: str | None = None) -> list[float]:
    return [one.value for one in loads_of(texts, arrivals, points, 4.0).loads]


def recording(path: Path) -> str:
    times_s = np.linspace(0.0, 10.0, 300, endpoint=False).tolist()
    fields = {"format": "tandem-arrivals", "version": 1, "duration_s": 10.0, "times_s": times_s}
    path.write_text(json.dumps(fields), encoding="utf-8")
    return str(path)


def test_a_range_is_a_row_of_equal_factors() -> None:
    assert values("concurrency=1:64") == [1, 4, 16, 64]
    assert values("rate=20:200") == [20, 43.1, 92.8, 200]
    assert values("concurrency=2:32", points=2) == [2, 32]


def test_a_list_is_taken_as_it_is() -> None:
    assert values("concurrency=1,8,32") == [1, 8, 32]
    assert values("rate=50", "concurrency=4") == [50, 4]


def test_callers_that_round_to_the_same_are_one_load() -> None:
    assert values("concurrency=1:3", points=8) == [1, 2, 3]
    assert values("concurrency=4,4") == [4]


def test_without_a_load_it_is_the_usual_sweep() -> None:
    assert values() == [1, 4, 16, 64]


def test_callers_are_a_closed_loop_and_rates_an_open_one_of_poisson() -> None:
    found = loads_of(["concurrency=4", "rate=50"], None, 4, 4.0)
    assert found.loads == (Load("closed", 4), Load("open", 50, "poisson"))
    random = np.random.default_rng(0)
    assert found.loop(found.loads[0], 4.0, random) == ClosedLoop(4)
    loop = found.loop(found.loads[1], 4.0, random)
    assert isinstance(loop, OpenLoop)
    assert 120 < len(loop.due_s) < 280  # 200 expected; 5 standard deviations are 71
    assert loop.due_s.max() < 4.0


def test_the_same_seed_gives_the_same_schedule_and_another_one_another() -> None:
    found = loads_of(["rate=50"], "bursty:factor=3", 4, 4.0)
    one, same, other = (
        found.loop(found.loads[0], 4.0, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert isinstance(one, OpenLoop)
    assert isinstance(same, OpenLoop)
    assert isinstance(other, OpenLoop)
    assert one.due_s.tolist() == same.due_s.tolist()
    assert one.due_s.tolist() != other.due_s.tolist()


def test_a_recording_alone_is_played_at_its_own_rate(tmp_path: Path) -> None:
    found = loads_of([], recording(tmp_path / "monday.json"), 4, 5.0)
    assert found.loads == (Load("open", 30.0, "monday.json"),)
    loop = found.loop(found.loads[0], 5.0, np.random.default_rng(0))
    assert isinstance(loop, OpenLoop)
    assert len(loop.due_s) == 150  # 30 a second, evenly
    assert "its first 50%" in found.remarks(5.0)[0]


def test_a_recording_with_a_rate_is_played_at_that_one(tmp_path: Path) -> None:
    found = loads_of(["rate=60"], recording(tmp_path / "monday.json"), 4, 5.0)
    loop = found.loop(found.loads[0], 5.0, np.random.default_rng(0))
    assert isinstance(loop, OpenLoop)
    assert len(loop.due_s) == 300  # the whole recording, twice as fast


@pytest.mark.parametrize(
    "text",
    [
        "concurrency",
        "concurrency=",
        "concurrency=0",
        "concurrency=0:8",
        "concurrency=8:1",
        "concurrency=1:8:64",
        "concurrency=1:8,64",
        "concurrency=2000",
        "concurrency=nan",
        "concurrency=many",
        "rate=-1",
        "rate=nan",
        "rate=inf",
        "rate=20:inf",
        "speed=3",
        "=3",
        "",
    ],
)
def test_a_load_that_is_none_says_what_is_expected(text: str) -> None:
    with pytest.raises(ContractMismatch, match="--load"):
        values(text)


def test_a_cell_of_hardly_any_requests_is_refused() -> None:
    with pytest.raises(ContractMismatch, match="lengthen --duration-s"):
        values("rate=1")  # 4 in 4 s


@pytest.mark.parametrize(
    ("texts", "arrivals"),
    [((), "poisson"), (("concurrency=4",), "poisson"), (("rate=50",), "sometimes")],
)
def test_arrivals_without_a_rate_or_of_no_kind_are_refused(
    texts: tuple[str, ...], arrivals: str
) -> None:
    with pytest.raises(ContractMismatch, match="arrivals"):
        values(*texts, arrivals=arrivals)

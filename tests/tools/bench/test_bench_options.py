"""The command line: what it means, what it refuses, and what the record says of it."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

import pytest

from ensemble.errors import ContractMismatch
from tools.bench import options as module
from tools.bench import run as run_module
from tools.bench.asked import Asked
from tools.bench.engine import ENGINES
from tools.bench.options import add_arguments, run, without_folders
from tools.bench.plan import Side


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words, argparse.Namespace(words=("bench", *words)))


def asked(*words: str) -> Asked:
    return module._asked(parsed(*words))


def names(of: Asked) -> list[str]:
    return [one.name for one in of.targets]


def test_without_a_word_the_default_profile_is_compared_with_no_batching() -> None:
    one = asked()
    assert names(one) == ["baseline", "interactive"]
    assert one.plan.sides == (Side("baseline", "grpc"), Side("interactive", "grpc"))
    assert [load.value for load in one.plan.loads] == [1, 4, 16, 64]


def test_two_profiles_at_four_loads_take_at_most_six_minutes() -> None:
    one = asked()
    assert len(one.plan.sides) * len(one.plan.loads) == 8
    assert one.whole_s <= 360


def test_the_same_profile_twice_is_two_targets() -> None:
    assert names(asked("--profiles", "bulk,bulk")) == ["bulk", "bulk-2"]


def test_a_server_that_runs_needs_no_profile_and_can_stand_beside_one() -> None:
    assert names(asked("--url", "old=h:1", "--url", "h:2")) == ["old", "server"]
    assert names(asked("--url", "old=h:1", "--profiles", "bulk")) == ["bulk", "old"]


def test_a_repository_without_profiles_is_one_target(tmp_path: Path) -> None:
    assert names(asked("--repository", str(tmp_path))) == ["as-it-is"]
    assert names(asked("--repository", str(tmp_path), "--url", "h")) == ["as-it-is", "server"]


def test_sides_are_targets_times_protocols() -> None:
    sides = asked("--protocol", "http,grpc,http").plan.sides
    assert sides[:2] == (Side("baseline", "http"), Side("baseline", "grpc"))
    assert len(sides) == 4


@pytest.mark.parametrize(
    "words",
    [
        ("--profiles", "a,,b"),
        ("--profiles", "nothing"),
        ("--protocol", "tcp"),
        ("--protocol", "grpc,"),
        ("--seed", "-1"),
        ("--instances", "0"),
        ("--images", "/nowhere/at/all"),
        ("--repository", "/nowhere/at/all"),
    ],
)
def test_what_means_nothing_is_refused_before_anything_is_started(words: tuple[str, ...]) -> None:
    with pytest.raises(ContractMismatch):
        asked(*words)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rounds", "0"),
        ("--duration-s", "-1"),
        ("--budget-min", "0"),
        ("--slo-p95-ms", "fast"),
        ("--points", "0"),
        ("--engine", "wrk"),
    ],
)
def test_numbers_that_are_none_are_refused_by_the_parser(option: str, value: str) -> None:
    with pytest.raises(SystemExit):
        parsed(option, value)


@pytest.mark.parametrize("out", ["", "missing/record.json"])
def test_a_record_that_can_not_be_written_is_said_first(tmp_path: Path, out: str) -> None:
    with pytest.raises(ContractMismatch, match="--out"):
        asked("--out", str(tmp_path / out)).check()


def test_a_budget_that_is_too_small_for_an_interval_is_refused() -> None:
    with pytest.raises(ContractMismatch, match="for 3 rounds"):
        asked("--budget-min", "1").check()
    asked("--budget-min", "4").check()
    asked("--budget-min", "1", "--load", "concurrency=1", "--duration-s", "1").check()


def test_what_will_happen_is_said() -> None:
    text = "\n".join(asked("--load", "concurrency=1,8").announced())
    assert "baseline, interactive; over grpc" in text
    assert "1 caller, 8 callers" in text
    assert "10 rounds of 4 cells of 3 s" in text


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("/home/me/photos", "photos"),
        ("~/photos", "photos"),
        ("photos/of/cats", "photos/of/cats"),
        ("../photos", "../photos"),
        ("--images=/home/me/photos/", "--images=photos/"),
        ("name=a,images=/data/x,rows=2", "name=a,images=x,rows=2"),
        ("a=http://h:8000/base", "a=http://h:8000/base"),
        ("http://h:8000", "http://h:8000"),
        ("concurrency=1:64", "concurrency=1:64"),
    ],
)
def test_the_command_of_the_record_tells_no_folder_of_this_machine(word: str, kept: str) -> None:
    assert without_folders([word]) == [kept]


def test_the_record_says_how_to_repeat_it() -> None:
    one = asked("--profiles", "bulk", "--out", "/tmp/x.json", "--seed", "3")
    assert one.command == (
        "tandem",
        "bench",
        "--profiles",
        "bulk",
        "--out",
        "x.json",
        "--seed",
        "3",
    )
    assert one.seed == 3


def test_every_engine_that_can_be_chosen_is_there() -> None:
    assert tuple(ENGINES) == module.ENGINES


def test_ctrl_c_before_the_rounds_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "bench", interrupted)
    err = io.StringIO()
    assert run(parsed(), io.StringIO(), err) == 130
    assert err.getvalue() == "interrupted\n"

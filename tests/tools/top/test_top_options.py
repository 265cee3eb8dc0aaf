"""The command line: once for scripts, and what it can't do is said."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

import pytest

import tools.top
from ensemble.errors import ContractMismatch, ModelUnavailable
from tests.fakes.busy_triton import BusyTriton, busy_triton
from tools.serve.ports import free_ports
from tools.top.options import add_arguments, run

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "top.md").read_text(encoding="utf-8")


@pytest.fixture
def triton() -> Iterator[BusyTriton]:
    with busy_triton() as one:
        yield one


def top(*arguments: str) -> tuple[int, str]:
    parser = ArgumentParser()
    add_arguments(parser)
    out = io.StringIO()
    return run(parser.parse_args(arguments), out), out.getvalue()


def once(triton: BusyTriton, *more: str) -> tuple[int, str]:
    where = f"--url={triton.address}", f"--metrics-url={triton.address}"
    return top(*where, "--once", "--interval-s=0.1", *more)


def test_once_is_a_table(triton: BusyTriton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, text = once(triton)
    assert code == 0
    assert re.search(r"^chain +\d", text, re.MULTILINE)
    assert "\x1b" not in text


def test_once_in_json_says_null_of_what_is_not_known(triton: BusyTriton) -> None:
    code, text = once(triton, "--json")
    found = json.loads(text)
    assert code == 0
    assert found["has_quantiles"] is False
    chain, first, _ = found["models"]
    assert (chain["model"], chain["steps"]) == ("chain", ["first", "second"])
    assert chain["queue_share"] == pytest.approx(0.5)
    assert chain["quantiles_ms"] == {}
    assert chain["mean_batch"] is None
    assert first["batch_sizes"] == {"2": 15}
    assert first["rejected_per_s"] == 0.0
    assert found["cpu_utilisation"] is None


def test_nobody_there() -> None:
    with pytest.raises(ModelUnavailable) as found:
        top(f"--url=127.0.0.1:{free_ports(1)[0]}", "--once")
    assert found.value.exit_code == 3


def test_json_is_for_scripts(triton: BusyTriton) -> None:
    with pytest.raises(ContractMismatch, match="--json: expected --once beside it"):
        top(f"--url={triton.address}", "--json")
    assert not triton.odd.asked


def test_the_live_view_wants_a_terminal(triton: BusyTriton) -> None:
    with pytest.raises(ContractMismatch, match="expected a terminal, got none; use --once"):
        top(f"--url={triton.address}")
    assert not triton.odd.asked


def test_a_python_without_curses_says_so(
    triton: BusyTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "tools.top.screen", raising=False)
    monkeypatch.delattr(tools.top, "screen", raising=False)
    monkeypatch.setitem(sys.modules, "curses", None)
    with pytest.raises(ContractMismatch, match=r"this Python has no curses .*; use --once"):
        top(f"--url={triton.address}")
    assert once(triton)[0] == 0


@pytest.mark.parametrize("interval_s", ["0.01", "1e+10"])
def test_an_interval_that_costs_the_server_too_much_or_never_ends(
    triton: BusyTriton, interval_s: str
) -> None:
    message = f"--interval-s {interval_s}: expected 0.1 to 3600"
    with pytest.raises(ContractMismatch, match=re.escape(message)):
        top(f"--url={triton.address}", f"--interval-s={interval_s}", "--once")


def test_ctrl_c_between_two_looks(triton: BusyTriton, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    assert once(triton) == (130, "")


def test_the_page_names_every_option() -> None:
    parser = ArgumentParser(add_help=False)
    add_arguments(parser)
    for action in parser._actions:
        assert action.option_strings[0] in PAGE

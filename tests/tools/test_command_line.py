"""What holds for every verb: a reader that leaves and Ctrl-C end it without a traceback."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

import tools.top.options
from tools.cli import main


@pytest.mark.parametrize("buffering", [1, -1], ids=["while it writes", "at its end"])
def test_a_reader_that_has_seen_enough_is_no_failure(
    buffering: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", buffering) as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)
        assert main(["explain"]) == 0
    assert capsys.readouterr().err == ""


def test_ctrl_c_before_a_verb_heeds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(tools.top.options, "run", interrupt)
    assert main(["top", "--url", "h:1"]) == 130

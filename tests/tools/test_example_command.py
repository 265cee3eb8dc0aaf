"""``python -m tools.example`` puts the model where Triton loads it, or says why it can't."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensemble.errors import ContractMismatch
from tools.example import __main__ as command
from tools.export import COMMITTED


def test_by_default_it_writes_into_the_repository(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "ensure", lambda path: path)
    assert command.main([]) == 0
    assert Path(capsys.readouterr().out.strip()) == COMMITTED / "classifier" / "1" / "model.onnx"


def test_it_writes_where_it_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "ensure", lambda path: path)
    assert command.main(["--out", "here.onnx"]) == 0
    assert capsys.readouterr().out == "here.onnx\n"


def test_wrong_weights_end_it_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path) -> Path:
        raise ContractMismatch("the weights: expected a, got b")

    monkeypatch.setattr(command, "ensure", refuse)
    assert command.main([]) == ContractMismatch.exit_code
    out, err = capsys.readouterr()
    assert out == ""
    assert "the weights: expected a, got b" in err

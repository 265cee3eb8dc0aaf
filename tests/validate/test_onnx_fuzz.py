"""Bytes that are no model, or no longer one, give findings: never a traceback, never a hang."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.validate.zoo_broken import BROKEN
from tests.validate.zoo_good import GOOD
from tools.validate.findings import Finding
from tools.validate.model import ModelUnderTest
from tools.validate.model.child import check
from tools.validate.model.request import encode

SEEDS = ("cnn", "heads_in_the_batch", "if", "embedding", "softmax_over_batch", "fixed_batch")
CHILD = [sys.executable, "-m", "tools.validate.model.child"]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("originals")
    return [one.build(folder) for one in (*GOOD, *BROKEN) if one.name in SEEDS]


@st.composite
def spoilt(draw: st.DrawFn, originals: list[bytes]) -> bytes:
    """A model cut short, or with some of its bits the other way."""
    data = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(0, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
    kept = draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))
    return bytes(data[:kept])


def read(path: Path) -> list[Finding]:
    return list(check(ModelUnderTest(path, run=False), lambda stage: None))


@settings(max_examples=1000, deadline=None)
@given(data=st.data())
def test_reading(originals: list[bytes], tmp_path_factory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.onnx"
    path.write_bytes(data.draw(st.one_of(spoilt(originals), st.binary(max_size=200))))
    assert read(path), "not even the note that it was not run"


@pytest.fixture(scope="module")
def child() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def ask(child: subprocess.Popen[str], path: Path) -> list[list[str]]:
    """What the process says; a process that has died says nothing more, and that fails."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(encode(ModelUnderTest(path)) + "\n")
    child.stdin.flush()
    lines = []
    while (line := child.stdout.readline()) and lines[-1:] != [["end"]]:
        lines.append(json.loads(line))
        if lines[-1] == ["end"]:
            break
    return lines


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_running(originals, child, tmp_path_factory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "run" / "fuzz.onnx"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data.draw(spoilt(originals)))
    lines = ask(child, path)
    assert lines[-1:] == [["end"]], child.stderr.read() if child.stderr else ""
    assert any(line[0] == "finding" for line in lines)

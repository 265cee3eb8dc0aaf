"""The process that asks outlives what a model does to the one that checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper

from tests.validate.zoo import ROWS, Sketch, node, value, whole
from tests.validate.zoo_good import cnn
from tools.validate.findings import Severity
from tools.validate.model import ModelUnderTest, check_model
from tools.validate.model import check as asking
from tools.validate.model.request import decode, encode
from tools.validate.releases import release

ROOT = Path(__file__).resolve().parents[2]
CLASSIFIER = ROOT / "model_repository" / "classifier" / "1" / "model.onnx"


def findings(path: Path, sketch: Sketch, **asked: object) -> dict[str, str]:
    path.write_bytes(sketch(path.parent))
    found = check_model(ModelUnderTest(path, **asked))  # type: ignore[arg-type]
    return {finding.rule.code: finding.message for finding in found}


def endless() -> Sketch:
    body = helper.make_graph(
        [node("Identity", "go", "on"), node("Neg", "a", "b")],
        "body",
        [value("i", T.INT64, []), value("go", T.BOOL, []), value("a", T.FLOAT, ["N", 8])],
        [value("on", T.BOOL, []), value("b", T.FLOAT, ["N", 8])],
    )
    return Sketch(
        [node("Loop", "_ yes x", "y", "for_ever", body=body)], weights={"yes": np.array(True)}
    )


def voracious() -> Sketch:
    """A row of 16 TB."""
    nodes = [
        node("Expand", "x to", "e", "swell"),
        node("ReduceSum", "e axis", "y", keepdims=0),
    ]
    return Sketch(nodes, [ROWS], weights={"to": whole(1 << 39, 1, 8), "axis": whole(0)})


def test_a_model_that_never_ends(tmp_path: Path) -> None:
    said = findings(tmp_path / "m.onnx", endless(), time_limit_s=3.0)
    assert said == {"O002": "no end within 3 s (at: one item alone)"}


def test_a_model_that_wants_all_memory(tmp_path: Path) -> None:
    said = findings(tmp_path / "m.onnx", voracious())
    assert list(said) == ["O002"]
    assert "out of memory" in said["O002"]
    assert "'swell'" in said["O002"]


def test_a_batch_that_memory_forbids_is_not_run(tmp_path: Path) -> None:
    """A row takes 64 MB, so 16 rows are more than the 300 MB that the check may take."""
    nodes = [node("Tile", "x times", "t"), node("ReduceMax", "t", "y", axes=[2], keepdims=0)]
    sketch = Sketch(nodes, [("x", T.FLOAT, ["N", 8, 1])], weights={"times": whole(1, 1, 1 << 21)})
    said = findings(tmp_path / "m.onnx", sketch)
    assert set(said) == {"O041", "O042"}
    assert said["O041"].startswith("batch 16 was asked for and 2 is the largest")


def test_a_process_that_is_killed_after_its_first_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text(
        'import os, signal\nprint(\'["finding", "O005", "opset"]\', flush=True)\n'
        'print(\'["stage", "loading"]\\n["fin\', flush=True)\n'
        "os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    monkeypatch.setattr(asking, "COMMAND", [sys.executable, str(child)])
    found = list(check_model(ModelUnderTest(tmp_path / "m.onnx")))
    assert [one.message for one in found] == ["opset", "killed by SIGSEGV (at: loading)"]


@pytest.mark.parametrize(
    ("last", "why"),
    [("", "no reason given"), ("x\nMemoryError", "out of memory"), ("a\nE: b", "E: b")],
)
def test_a_bad_end_is_told_in_a_line(last: str, why: str) -> None:
    assert asking.explain(1, last) == why


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    found = list(check_model(ModelUnderTest(tmp_path / "none.onnx")))
    assert [one.rule.code for one in found] == ["O001"]


def test_without_running_nothing_is_claimed(tmp_path: Path) -> None:
    assert list(findings(tmp_path / "m.onnx", cnn(), run=False)) == ["O003"]


def test_the_request_survives_the_way_to_the_process(tmp_path: Path) -> None:
    from ensemble.pbtxt import parse

    config = parse('name: "m" max_batch_size: 4', "config.pbtxt")
    path = tmp_path / "m.onnx"
    sent = ModelUnderTest(path, config, 3, release("24.05"), False, path)
    assert decode(encode(sent)) == sent
    assert decode(encode(ModelUnderTest(path))) == ModelUnderTest(path)


@pytest.mark.skipif(not CLASSIFIER.exists(), reason="the example classifier was not built")
def test_the_shipped_classifier_within_its_memory() -> None:
    """Peak of the process that checks: 3 times the model and 300 MB at most."""
    program = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from ensemble.pbtxt import parse\n"
        "from tools.validate.model import ModelUnderTest, check_model\n"
        "path = Path(sys.argv[1])\n"
        "config = parse((path.parents[1] / 'config.pbtxt').read_text(), 'config.pbtxt')\n"
        "print([f.rule.severity.value for f in check_model(ModelUnderTest(path, config))])\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(CLASSIFIER)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    severities, peak_kib = done.stdout.splitlines()
    assert Severity.ERROR.value not in severities
    assert "note" in severities
    assert int(peak_kib) * 1024 <= 3 * CLASSIFIER.stat().st_size + 300_000_000

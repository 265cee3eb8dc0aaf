"""What import writes is what the validator passes, for both targets."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.importer.networks import save, small
from tools.cli import main
from tools.validate.options import ValidateOptions
from tools.validate.run import validate

Case = tuple[dict[str, Any], tuple[str, ...]]
CASES: dict[str, Case] = {
    "plain": ({}, ()),
    "half precision, channels last, several labels": (
        {"dtype": np.float16, "image": ("N", 48, 64, 3)},
        ("--scores", "sigmoid"),
    ),
    "no batches": ({}, ("--max-batch-size", "1")),
    "the largest batches": ({}, ("--max-batch-size", "3051")),
}


def imported(folder: Path, case: Case, target: str) -> Path:
    made, further = case
    (folder / "labels.txt").write_text("a\nb\nc\nd\n")
    onnx = save(small(**made), folder / "m.onnx", external=True)
    words = ["import", str(onnx), "--labels", str(folder / "labels.txt"), "--output", "scores:0"]
    words += ["--transform", "torchvision-imagenet", "--target", target]
    assert main([*words, "--out", str(folder / "out"), *further]) == 0
    return folder / "out"


def errors(repository: Path, target: str) -> list[str]:
    """Codes and messages of what the validator calls an error."""
    out = io.StringIO()
    options = ValidateOptions(repository=repository, target=target, format="json")
    validate(options, out, io.StringIO())
    found = json.loads(out.getvalue())
    assert found, "not even a note"
    return [f"{f['code']}: {f['message']}" for f in found if f["severity"] == "error"]


@pytest.mark.parametrize("target", ["cpu", "gpu"])
@pytest.mark.parametrize("name", CASES)
def test_the_validator_has_no_error_to_tell(tmp_path: Path, name: str, target: str) -> None:
    assert errors(imported(tmp_path, CASES[name], target), target) == []


def test_an_error_would_be_seen(tmp_path: Path) -> None:
    repository = imported(tmp_path, CASES["plain"], "gpu")
    config = repository / "classifier" / "config.pbtxt"
    config.write_text(config.read_text().replace("scores:0", "scores:1"))
    assert errors(repository, "gpu") != []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dtype": "FP16"}, "config.pbtxt says TYPE_FP16, the model FLOAT"),
        ({"mean": [0.0, 0.0, 0.0]}, "expected the transform of .*preprocess/1/transform.json"),
    ],
)
def test_a_stage_that_normalises_otherwise_is_an_error(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """On the CPU the classifier's stage normalises the levels that preprocess gives."""
    repository = imported(tmp_path, CASES["plain"], "cpu")
    transform = repository / "classifier" / "1" / "transform.json"
    transform.write_text(json.dumps(json.loads(transform.read_text()) | change))
    assert re.search(said, "\n".join(errors(repository, "cpu")))

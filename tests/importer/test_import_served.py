"""Import, serve on a real server, classify: the answers are the model's own on the same pixels."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from ensemble.transform import Transform
from preprocess.graph import build_pipeline
from tests.conftest import ROOT, SAMPLES, running_server
from tests.importer.networks import mobilenet_v3_small, save, small
from tests.importer.test_import_doc import block
from tools.cli import main

Array = np.ndarray[Any, Any]
LABELS = ROOT / "model_repository" / "postprocess" / "1" / "labels.txt"
STRETCHED = 'resize = "exact"\nresize_shorter = 48\nmean = [0, 0, 0]\nstd = [255, 255, 255]\n'
PHOTOGRAPHS = ("chelsea.png", "coffee.png", "rocket.jpg")


def repository(folder: Path, proto: onnx.ModelProto, labels: Path, *further: str) -> Path:
    path = save(proto, folder / "model.onnx", external=True)
    words = ["import", str(path), "--labels", str(labels), "--out", str(folder / "own"), *further]
    assert main(words) == 0
    return folder / "own"


def own_scores(root: Path, photograph: str, output: str) -> Array:
    """What the model itself says of one photograph, (classes,) float32."""
    transform = Transform.from_file(root / "preprocess" / "1" / "transform.json")
    pipeline = build_pipeline(transform, batch_size=1, num_threads=1, device_id=None)
    pipeline.feed_input("IMAGE", [np.fromfile(SAMPLES / photograph, np.uint8)])
    pixels = np.copy(np.asarray(pipeline.run()[0].as_tensor()))
    session = onnxruntime.InferenceSession(
        root / "classifier" / "1" / "model.onnx", providers=["CPUExecutionProvider"]
    )
    (rows,) = session.run([output], {session.get_inputs()[0].name: pixels})
    return np.asarray(rows[0], np.float32)


def softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


def tandem(text: str) -> subprocess.CompletedProcess[str]:
    words = text.replace(".venv/bin/tandem", f"{sys.executable} -m tools")
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def served(folder: Path, root: Path) -> dict[str, list[dict[str, Any]]]:
    """Answers of the page's own commands: photograph to classes, best first."""
    (serve,), (client,) = block("sh serve"), block("sh client")
    (arguments,) = re.findall(r"tandem serve (.*)\n", serve)
    with running_server(folder, *arguments.replace("own", str(root)).split()) as server:
        client = client.replace("health", f"health --url {server.http}")
        client = client.replace("classify", f"classify --json --top-k 4 --url {server.grpc}")
        lines = tandem(client).stdout.splitlines()
        for stage in ("preprocess", "classifier", "postprocess"):
            tandem(f".venv/bin/tandem health --url {server.http} --model {stage}")
    assert lines[0].startswith("ensemble answered")
    answers = [json.loads(line) for line in lines[1:]]
    return {Path(answer["file"]).name: answer["classes"] for answer in answers}


def check(
    answers: dict[str, list[dict[str, Any]]], expected: dict[str, Array], allowed: float
) -> None:
    assert answers.keys() == expected.keys()
    for name, scores in expected.items():
        best = np.argsort(-scores, kind="stable")[:4]
        assert [c["class_id"] for c in answers[name]] == best.tolist(), name
        got = [c["score"] for c in answers[name]]
        np.testing.assert_allclose(got, scores[best], atol=allowed, err_msg=name)


@pytest.mark.parametrize("wrong", [[0.2, 0.7, 0.1, 0.0], [0.8, 0.1, 0.06, 0.04]])
def test_answers_of_another_model_are_noticed(wrong: list[float]) -> None:
    expected = np.array([0.7, 0.2, 0.1, 0.0], np.float32)
    order = sorted(range(4), key=lambda n: -wrong[n])
    answers = {"a.png": [{"class_id": n, "score": wrong[n]} for n in order]}
    with pytest.raises(AssertionError, match=r"a\.png"):
        check(answers, {"a.png": expected}, allowed=1e-3)


@pytest.mark.server
def test_a_torchvision_export_is_served_as_it_is(tmp_path: Path) -> None:
    root = repository(tmp_path, mobilenet_v3_small(), LABELS, "--transform", "torchvision-imagenet")
    expected = {name: softmax(own_scores(root, name, "linear_1")) for name in PHOTOGRAPHS}
    # Shown with six digits; another batch size may round the sums of 1024 terms differently.
    check(served(tmp_path, root), expected, allowed=1e-5)


@pytest.mark.server
def test_half_precision_channels_last_several_labels_and_outputs(tmp_path: Path) -> None:
    labels, toml = tmp_path / "labels.txt", tmp_path / "t.toml"
    labels.write_text("cat\ncup\nrocket\nsky\n")
    toml.write_text(STRETCHED)
    proto = small(dtype=np.float16, image=("N", 48, 64, 3))
    choice = ("--output", "scores:0", "--scores", "sigmoid", "--transform", str(toml))
    root = repository(tmp_path, proto, labels, *choice)
    expected = {name: 1 / (1 + np.exp(-own_scores(root, name, "scores:0"))) for name in PHOTOGRAPHS}
    # One step of FP16 near 1, for another order of eight terms.
    check(served(tmp_path, root), expected, allowed=1e-3)

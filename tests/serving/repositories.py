"""Model repositories: whole ones, with a stage spoilt, and one that starts fast."""

from __future__ import annotations

import shutil
from pathlib import Path

from ensemble.model_config import Deployment
from tools.example.efficientnet_lite0 import ensure
from tools.export import export
from tools.serve.serve import EXAMPLE_MODEL

FAULTS = {
    "swaps": "[rows[::-1] for rows in arrays]",
    "first": "[np.repeat(arrays[0][:1], len(rows), axis=0) for rows in arrays]",
    "mean": "[np.broadcast_to(np.concatenate(arrays).mean(axis=0), rows.shape) for rows in arrays]",
    "mixes": "[rows + np.concatenate(arrays).mean(axis=0) for rows in arrays]",
}
"""What a spoilt stage does to the arrays of its batch before it works on them."""


_LIGHT_CONFIG = """
name: "ensemble"
backend: "python"
max_batch_size: 64
input { name: "IMAGE" data_type: TYPE_UINT8 dims: -1 }
output { name: "SIZE" data_type: TYPE_INT32 dims: 1 }
"""
_LIGHT_MODEL = """
import numpy as np
import triton_python_backend_utils as pb_utils

from ensemble.adapter import execute


class TritonPythonModel:
    def execute(self, requests):
        return execute(pb_utils, requests, "IMAGE", sizes)


def sizes(arrays):
    return [{"SIZE": np.full((len(rows), 1), rows.shape[1], np.int32)} for rows in arrays]
"""


def light(root: Path) -> Path:
    """One small Python model in the ensemble's place: ready in a second or two."""
    (root / "ensemble" / "1").mkdir(parents=True)
    (root / "ensemble" / "config.pbtxt").write_text(_LIGHT_CONFIG, encoding="utf-8")
    (root / "ensemble" / "1" / "model.py").write_text(_LIGHT_MODEL, encoding="utf-8")
    return root


def repository(folder: Path) -> Path:
    """A whole one, CPU target, every profile, one instance a stage."""
    return export(Deployment(target="cpu"), ensure(EXAMPLE_MODEL), folder)


def add_spoilt(root: Path, stage: str, fault: str) -> str:
    """A copy of ``stage`` with one of ``FAULTS``; its name."""
    name = _copy(root, stage, fault)
    _replace(
        root / name / "1" / "model.py",
        ("self.stage)", f"lambda arrays: self.stage({FAULTS[fault]}))"),
        ("import json", "import json\nimport numpy as np"),
    )
    return name


def add_uniform(root: Path) -> str:
    """A copy of ``preprocess`` that takes only images of one length into a batch; its name."""
    name = _copy(root, "preprocess", "uniform")
    for config in _configurations(root / name):
        _replace(config, ("  allow_ragged_batch: true\n", ""))
    return name


def add_ensemble(root: Path, stage: str) -> str:
    """A copy of the ensemble with ``stage``, a spoilt one, in place of the whole one; its name."""
    whole, fault = stage.split("_")
    name = _copy(root, "ensemble", fault)
    for config in _configurations(root / name):
        _replace(config, (f'model_name: "{whole}"', f'model_name: "{stage}"'))
    return name


def _copy(root: Path, model: str, suffix: str) -> str:
    name = f"{model}_{suffix}"
    shutil.copytree(root / model, root / name)
    for config in _configurations(root / name):
        _replace(config, (f'\nname: "{model}"\n', f'\nname: "{name}"\n'))
    return name


def _configurations(model: Path) -> list[Path]:
    """The default one and that of each profile."""
    return sorted(model.rglob("*.pbtxt"))


def _replace(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, f"{path}: expected {old!r} once, got {text.count(old)}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")

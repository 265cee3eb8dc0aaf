"""Render a model repository for a target and a profile."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment, configurations
from ensemble.pbtxt import from_fields, render
from ensemble.profiles import PROFILES

ROOT = Path(__file__).resolve().parent.parent
COMMITTED = ROOT / "model_repository"

_CODE = {
    "preprocess": ("model.py", "dali.py"),
    "classifier": ("model.py",),
    "postprocess": ("model.py", "labels.txt"),
    "ensemble": (".gitkeep",),
}


def texts(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Path inside the repository and text, for every rendered file.

    ``config.pbtxt`` is the deployment's own profile; ``configs/<profile>.pbtxt`` are all of
    them, for Triton's ``--model-config-name``.
    """
    yield "preprocess/1/transform.json", deployment.transform.to_json()
    for model, text in _config_texts(deployment):
        yield f"{model}/config.pbtxt", text
    for profile in PROFILES:
        for model, text in _config_texts(replace(deployment, profile=profile)):
            yield f"{model}/configs/{profile}.pbtxt", text


def _config_texts(deployment: Deployment) -> Iterator[tuple[str, str]]:
    comment = (
        f"Rendered: tandem export --target {deployment.target} --profile {deployment.profile}\n"
        "The reason for each batching value is in docs/profiles.md."
    )
    for model, fields in configurations(deployment).items():
        yield model, render(from_fields(fields), comment)


def export(deployment: Deployment, onnx: Path, out: Path) -> Path:
    """Write a whole repository to ``out``, or nothing.

    Args:
        deployment: what to render.
        onnx: the classifier.
        out: a folder that is not there yet, or is empty.

    Raises:
        ContractMismatch: ``out`` holds something.
    """
    if out.exists() and any(out.iterdir()):
        raise ContractMismatch(f"--out {out}: expected a new or empty folder, got one with files")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
        half = Path(scratch) / "repository"
        for model, names in _CODE.items():
            (half / model / "1").mkdir(parents=True)
            for name in names:
                shutil.copyfile(COMMITTED / model / "1" / name, half / model / "1" / name)
        write_texts(deployment, half)
        shutil.copyfile(onnx, half / "classifier" / "1" / "model.onnx")
        if out.exists():
            out.rmdir()
        half.rename(out)
    return out


def write_texts(deployment: Deployment, repository: Path) -> None:
    """Write every rendered file below ``repository``."""
    for name, text in texts(deployment):
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

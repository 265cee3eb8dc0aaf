"""Render a model repository for a target and a profile."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment, configurations
from ensemble.pbtxt import from_fields, render
from ensemble.profiles import PROFILES

ROOT = Path(__file__).resolve().parent.parent
COMMITTED = ROOT / "model_repository"

_CODE = (
    "preprocess/1/model.py",
    "preprocess/1/dali.py",
    "classifier/1/model.py",
    "postprocess/1/model.py",
    "postprocess/1/labels.txt",
    "ensemble/1/.gitkeep",
)
_FUSED_CODE = ("ensemble/1/model.py", "postprocess/1/labels.txt")


@dataclass(frozen=True)
class Parts:
    """What a repository holds that is not rendered.

    Attributes:
        onnx: the classifier.
        weights: its external data, relative to its folder; they keep their names.
        labels: text of the label file; None is the example's.
        verb: of the command line that renders, for the comment on top of each configuration.
    """

    onnx: Path
    weights: tuple[str, ...] = ()
    labels: str | None = None
    verb: str = "export"


def texts(deployment: Deployment, verb: str = "export") -> Iterator[tuple[str, str]]:
    """Path inside the repository and text, for every rendered file.

    ``config.pbtxt`` is the deployment's own profile; ``configs/<profile>.pbtxt`` are all of
    them, for Triton's ``--model-config-name``.
    """
    transform = deployment.transform.to_json()
    yield _inside(deployment, "preprocess/1/transform.json"), transform
    if deployment.target == "cpu" and not deployment.fused:  # where it normalises as well
        yield "classifier/1/transform.json", transform
    for model, text in _config_texts(deployment, verb):
        yield f"{model}/config.pbtxt", text
    for profile in PROFILES:
        for model, text in _config_texts(replace(deployment, profile=profile), verb):
            yield f"{model}/configs/{profile}.pbtxt", text


def _inside(deployment: Deployment, path: str) -> str:
    """Where a stage's file is; all are the ensemble's where it is the only model."""
    return f"ensemble/1/{Path(path).name}" if deployment.fused else path


def _config_texts(deployment: Deployment, verb: str) -> Iterator[tuple[str, str]]:
    comment = (
        f"Rendered: tandem {verb} --target {deployment.target} --profile {deployment.profile}\n"
        "The reason for each batching value is in docs/profiles.md."
    )
    for model, fields in configurations(deployment).items():
        yield model, render(from_fields(fields), comment)


def export(deployment: Deployment, onnx: Path, out: Path) -> Path:
    """Write a whole repository with the example's labels; see ``write_repository``."""
    return write_repository(deployment, Parts(onnx), out)


def write_repository(deployment: Deployment, parts: Parts, out: Path) -> Path:
    """Write a whole repository to ``out``, or nothing.

    Args:
        deployment: what to render.
        parts: what else belongs into it.
        out: a folder that is not there yet, or is empty.

    Raises:
        ContractMismatch: ``out`` holds something or can't be made, or weights would take the
            place of another file.
    """
    try:
        whole = _place(out)
        scratch = tempfile.TemporaryDirectory(dir=whole.parent, prefix=".tandem-")
    except OSError as error:
        raise ContractMismatch(
            f"--out {out}: expected a new or empty folder, got {error.strerror}"
        ) from error
    with scratch:
        half = Path(scratch.name) / "repository"
        _copy_code(deployment, half)
        write_texts(deployment, half, parts.verb)
        if parts.labels is not None:
            labels = half / _inside(deployment, "postprocess/1/labels.txt")
            labels.write_text(parts.labels, encoding="utf-8")
        # Not model.onnx, whose ends would be taken for the model's.
        onnx = "ensemble/1/classifier.onnx" if deployment.fused else "classifier/1/model.onnx"
        _copy_classifier(parts, half / onnx)
        try:
            half.rename(whole)  # takes the place of an empty folder
        except OSError as error:
            raise ContractMismatch(
                f"--out {out}: expected a folder that can be replaced, got {error.strerror}"
            ) from error
    return out


def _place(out: Path) -> Path:
    """Where ``out`` really is, new or empty; the folders above it are made.

    Raises:
        ContractMismatch: it can't be replaced by a folder.
        OSError: nor looked at, nor can the folders above it be made.
    """
    whole = Path(os.path.realpath(out))
    if os.path.lexists(out) and not os.path.exists(out):
        got = "a link to nothing"
    elif whole.is_dir():
        got = "one with files" if any(whole.iterdir()) else ""
        if whole == Path.cwd():
            got = got or "the one that this command runs in: say it from another"
    else:
        got = "a file" if whole.exists() else ""
    if got:
        raise ContractMismatch(f"--out {out}: expected a new or empty folder, got {got}")
    whole.parent.mkdir(parents=True, exist_ok=True)
    return whole


def _copy_code(deployment: Deployment, repository: Path) -> None:
    for path in _FUSED_CODE if deployment.fused else _CODE:
        target = repository / _inside(deployment, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(COMMITTED / path, target)


def _copy_classifier(parts: Parts, onnx: Path) -> None:
    shutil.copyfile(parts.onnx, onnx)
    for name in parts.weights:
        target = onnx.parent / name
        if target.exists():
            raise ContractMismatch(
                f"{parts.onnx}: expected its weights under a name of their own, got {name}"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(parts.onnx.parent / name, target)


def write_texts(deployment: Deployment, repository: Path, verb: str = "export") -> None:
    """Write every rendered file below ``repository``."""
    for name, text in texts(deployment, verb):
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

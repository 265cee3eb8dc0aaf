"""From what a model is, and what the user declared, to a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment, Ends
from ensemble.presets import PRESETS, read_toml
from ensemble.transform import Transform
from tools.importer.labels import read_labels, repeated
from tools.importer.model import DTYPES, PROBABILITIES, Model

RATIO = 0.875
"""Crop over resize where a preset is fitted to another size: 224 of 256."""
TOP_K = 5


@dataclass(frozen=True)
class ImportRequest:
    """What the command line asked for.

    Attributes:
        labels: file of class names.
        transform: name of a preset, or a TOML file.
        scores: ``auto``, or one of ``ensemble.model_config.SCORES``.
        top_k: classes of an answer; None is 5, or as many as there are.
        deployment: target, profile, largest batch and instances; the rest is filled in.
    """

    labels: Path
    transform: str
    scores: str = "auto"
    top_k: int | None = None
    deployment: Deployment = field(default_factory=Deployment)


@dataclass(frozen=True)
class Plan:
    """What is written.

    Attributes:
        model: the user's file.
        deployment: what is rendered for it.
        labels: one a class.
        notes: decisions that were taken for the user, one line each.
    """

    model: Model
    deployment: Deployment
    labels: tuple[str, ...]
    notes: tuple[str, ...]


def plan(model: Model, request: ImportRequest) -> Plan:
    """Everything that follows from the model.

    Raises:
        ContractMismatch: labels, transform or scores do not fit it.
    """
    labels = read_labels(request.labels, model.classes)
    transform, notes = fitted_transform(model, request.transform)
    scores, reason = chosen_scores(model, request.scores)
    deployment = replace(
        request.deployment,
        classes=model.classes,
        top_k=request.top_k or min(TOP_K, model.classes),
        transform=transform,
        ends=Ends(model.input.name, model.output.name, f"TYPE_{DTYPES[model.output.dtype]}"),
        scores=scores,
    )
    return Plan(model, deployment, labels, (*notes, reason, *repeated(labels)))


def declared_size(declared: str) -> tuple[int, int]:
    """Height and width of the declared crop, pixels, for a model that takes any."""
    if declared in PRESETS:
        transform = PRESETS[declared].transform
        return transform.crop_height, transform.crop_width
    given = _read(declared)
    default = Transform()
    return (
        given.get("crop_height", default.crop_height),
        given.get("crop_width", default.crop_width),
    )


def _read(declared: str) -> dict[str, Any]:
    if not declared.endswith(".toml"):
        raise ContractMismatch(
            f"--transform: expected one of {', '.join(PRESETS)} or a FILE.toml, got {declared}"
        )
    return read_toml(Path(declared))


def fitted_transform(model: Model, declared: str) -> tuple[Transform, tuple[str, ...]]:
    """The declared transform with the model's own size, layout and dtype, and what was decided.

    Args:
        model: what the pixels are for.
        declared: name of a preset, or a TOML file. What the file says is not changed.

    Raises:
        ContractMismatch: the file's size, layout or dtype is not the model's.
    """
    own = {"layout": model.layout, "dtype": DTYPES[model.input.dtype]}
    if declared in PRESETS:
        transform = replace(PRESETS[declared].transform, **own)  # type: ignore[arg-type]
        return _resized(transform, model, declared)
    given = _read(declared)
    own |= _known_crop(model)
    for name, expected in own.items():
        if given.get(name, expected) != expected:
            raise ContractMismatch(
                f"{declared}: {name} is {given[name]}, the model's input {model.input} "
                f"needs {expected}"
            )
    missing = [name for name in ("crop_height", "crop_width") if name not in own | given]
    if missing:
        raise ContractMismatch(
            f"{declared}: expected {missing[0]}, since the model takes any size: {model.input}"
        )
    return Transform(**(own | given)), ()


def _known_crop(model: Model) -> dict[str, Any]:
    sides = zip(("crop_height", "crop_width"), model.height_width, strict=True)
    return {name: side for name, side in sides if side is not None}


def _resized(transform: Transform, model: Model, name: str) -> tuple[Transform, tuple[str, ...]]:
    """A preset for the model's own size."""
    usual = (transform.crop_height, transform.crop_width)
    height, width = (side or usual[n] for n, side in enumerate(model.height_width))
    if (height, width) == usual:
        return transform, ()
    shorter = min(height, width)
    if transform.resize == "shorter":
        shorter = round(max(height, width) / RATIO)
    note = f"{name} is for {usual[0]} x {usual[1]} pixels, the model for {height} x {width}: "
    note += f"resize_shorter {shorter}"
    if transform.resize == "shorter":
        note += f", the usual crop of {RATIO}"
    fitted = replace(transform, resize_shorter=shorter, crop_height=height, crop_width=width)
    return fitted, (note,)


def chosen_scores(model: Model, asked: str) -> tuple[str, str]:
    """What makes a score of an output, and why.

    Raises:
        ContractMismatch: the model's output is a probability already, or softmax of one class.
    """
    last = model.last_operator or "no operator"
    done = "none" if last in PROBABILITIES or model.sums_to_one else None
    ending = f"the model ends in {last}" if last in PROBABILITIES else "its rows sum to 1"
    if done and asked not in ("auto", done):
        raise ContractMismatch(
            f"--scores {asked}: {ending}, so its output is a probability; expected auto or none"
        )
    kind = done or "softmax" if asked == "auto" else asked
    if kind == "softmax" and model.classes == 1:
        raise ContractMismatch(
            "--scores softmax: the softmax of one class is always 1; expected sigmoid or none"
        )
    if asked != "auto":
        return kind, f"scores {kind}, as asked"
    return kind, f"scores {kind}: {ending if done else f'the model ends in {last}'}"


def summary(made: Plan) -> Iterator[str]:
    """Lines for the user: what the repository will do."""
    deployment, model = made.deployment, made.model
    yield f"input    {model.input}, layout {deployment.transform.layout}"
    yield f"output   {model.output}, {deployment.classes} classes, top {deployment.top_k}"
    for note in made.notes:
        yield f"note     {note}"

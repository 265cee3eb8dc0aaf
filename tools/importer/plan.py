"""From what a model is, and what the user declared, to a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment, Ends
from tools.importer.labels import read_labels, repeated
from tools.importer.model import DTYPES, PROBABILITIES, Model
from tools.importer.pixels import fitted_transform

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


def chosen_scores(model: Model, asked: str) -> tuple[str, str]:
    """What makes a score of an output, and why.

    Raises:
        ContractMismatch: the model's output is a probability already, or softmax of one class;
            or may be one, and nobody said.
    """
    last = model.last_operator or "no operator"
    done = "none" if last in PROBABILITIES or model.sums_to_one else None
    ending = f"the model ends in {last}" if last in PROBABILITIES else "its rows sum to 1"
    if done and asked not in ("auto", done):
        raise ContractMismatch(
            f"--scores {asked}: {ending}, so its output is a probability; expected auto or none"
        )
    if asked == "softmax" and model.classes == 1:
        raise ContractMismatch(
            "--scores softmax: the softmax of one class is always 1; expected sigmoid or none"
        )
    if asked != "auto":
        return asked, f"scores {asked}, as asked"
    if done:
        return done, f"scores {done}: {ending}"
    return _guessed(model, last), f"scores softmax: the model ends in {last}"


def _guessed(model: Model, last: str) -> str:
    """Of logits, unless they may be none."""
    if model.classes == 1:
        raise ContractMismatch(
            f"--scores: the model ends in {last} with one class, whose softmax is always 1; "
            "say --scores sigmoid if that is a logit, none if it is a score"
        )
    if model.within_one:
        raise ContractMismatch(
            f"--scores: the model ends in {last}, and on noise its rows lie within 0..1 without "
            "summing to 1: say --scores none if those are scores, softmax or sigmoid if logits"
        )
    return "softmax"


def summary(made: Plan) -> Iterator[str]:
    """Lines for the user: what the repository will do."""
    deployment, model = made.deployment, made.model
    yield f"input    {model.input}, layout {deployment.transform.layout}"
    yield f"output   {model.output}, {deployment.classes} classes, top {deployment.top_k}"
    for note in made.notes:
        yield f"note     {note}"

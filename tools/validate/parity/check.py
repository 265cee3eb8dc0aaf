"""Served pixels against trained pixels, picture by picture, and why they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ensemble.errors import ServingError
from ensemble.transform import Transform
from preprocess.decode import Preprocessor
from preprocess.guard import Limits
from tools.validate.findings import Finding, Place, Rule
from tools.validate.parity import references
from tools.validate.parity.diagnose import Case, Diagnosis, diagnose
from tools.validate.parity.pictures import Picture, generated, photographs
from tools.validate.parity.recipe import Recipe
from tools.validate.rules import preprocessing as rules

Array = np.ndarray[Any, Any]

BATCH_SIZE = 16
_NAMED = 3  # pictures that a finding names
_SEED = 20_240_805  # the same pictures in every run, so that two runs can be compared


@dataclass(frozen=True)
class ParityRequest:
    """What to compare.

    Attributes:
        transform: the one that the server applies.
        reference: a key of ``references.REFERENCES``, or an ``.npz`` with one array an image name.
        images: files, or folders of them.
        report: HTML file to write; None for none.
        training: the transform that the reference stands for; None: ``transform``, in the colour
            order of the reference's framework.
        source: the file that declares ``transform``, for the findings.
    """

    transform: Transform
    reference: str
    images: Sequence[Path] = ()
    report: Path | None = None
    training: Transform | None = None
    source: Path = Path("transform.json")


@dataclass(frozen=True)
class Compared:
    """One picture, from both sides.

    Attributes:
        picture: the image.
        ours: what the server feeds, (3, height, width) or (height, width, 3) float32.
        reference: what training feeds, of the same shape.
        mean: of the absolute difference, levels of 0..255.
        p99: 99th percentile of it, levels.
        largest: greatest of it, levels.
        explained: what was found; empty where the pictures agree.
    """

    picture: Picture
    ours: Array
    reference: Array
    mean: float
    p99: float
    largest: float
    explained: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.mean <= self.picture.tolerance_levels


@dataclass(frozen=True)
class ParityResult:
    """What came out.

    Attributes:
        findings: one a cause.
        pictures: each picture that was compared, in order.
    """

    findings: tuple[Finding, ...]
    pictures: tuple[Compared, ...]


def check_preprocessing(request: ParityRequest) -> ParityResult:
    """Compare what the server feeds with what training fed.

    Raises:
        ContractMismatch: the reference can't be used.
        OSError: an image can't be read, or the report not written.
    """
    reference = references.load(request.reference, request.transform, request.training)
    pictures = photographs(request.images)
    if not request.reference.endswith(".npz"):
        pictures += generated(request.transform, np.random.default_rng(_SEED))
    compared: list[Compared] = []
    troubles: dict[Trouble, list[str]] = defaultdict(list)
    for picture, ours in zip(pictures, served(pictures, request.transform), strict=True):
        for one in _both_sides(picture, ours, reference, request.transform):
            if isinstance(one, Compared):
                compared.append(one)
            else:
                troubles[one].append(picture.name)
    place = Place(request.source)
    findings = [
        rule.at(place, f"{_listed(names)}: {message}")
        for (rule, message), names in troubles.items()
    ]
    cases = [Case(one.picture, one.reference, one.mean) for one in compared if not one.agrees]
    diagnoses = list(diagnose(cases, Recipe.of(request.transform)))
    findings += _findings(diagnoses, place)
    result = ParityResult(tuple(findings), tuple(_explained(compared, diagnoses)))
    if request.report is not None:
        from tools.validate.parity.report import write

        write(request.report, request.transform, request.reference, result)
    return result


def served(pictures: Sequence[Picture], transform: Transform) -> Iterator[Array | ServingError]:
    """What the server's preprocessing feeds for each, or its refusal."""
    preprocess = Preprocessor(transform, Limits(), BATCH_SIZE)
    for start in range(0, len(pictures), BATCH_SIZE):
        batch = pictures[start : start + BATCH_SIZE]
        encoded = [np.frombuffer(picture.encoded, np.uint8)[None] for picture in batch]
        for result in preprocess(encoded):
            yield result if isinstance(result, ServingError) else np.copy(result["PIXELS"][0])


Trouble = tuple[Rule, str]
"""Why two sides can't be compared as they are, and the message."""


def _both_sides(
    picture: Picture, ours: Array | ServingError, pixels: references.Pixels, transform: Transform
) -> Iterator[Compared | Trouble]:
    """The comparison, or why there is none; both where only the layout differs."""
    if isinstance(ours, ServingError):
        yield rules.NOT_COMPARED, f"the server refuses it: {ours}"
        return
    try:
        reference = pixels(picture)
    except OSError as error:
        yield rules.NOT_COMPARED, f"the reference can't read it: {error}"
        return
    if reference is None:
        yield rules.NOT_COMPARED, "the reference has no array of that name"
        return
    if reference.shape != ours.shape:
        turned = reference.transpose(_TO_OTHER[transform.layout]) if reference.ndim == 3 else None
        if turned is None or turned.shape != ours.shape:
            yield rules.SHAPE, f"the reference is {reference.shape}, the server's {ours.shape}"
            return
        other = "HWC" if transform.layout == "CHW" else "CHW"
        yield rules.LAYOUT, f"the reference feeds {other}, the server {transform.layout}"
        reference = turned
    yield compare(picture, ours, reference, transform)


_TO_OTHER = {"CHW": (2, 0, 1), "HWC": (1, 2, 0)}


def compare(picture: Picture, ours: Array, reference: Array, transform: Transform) -> Compared:
    """The figures of one picture; what is not finite counts as infinitely far."""
    apart = Recipe.of(transform).values.apart(ours, reference)
    mean, p99, largest = apart.mean(), np.percentile(apart, 99, method="higher"), apart.max()
    return Compared(picture, ours, reference, float(mean), float(p99), float(largest))


def _explained(compared: Sequence[Compared], diagnoses: Sequence[Diagnosis]) -> Iterator[Compared]:
    words = {
        case.picture: tuple(rule.code for rule in _rules(diagnosis))
        for diagnosis in diagnoses
        for case in diagnosis.after
    }
    return (replace(one, explained=words.get(one.picture, ())) for one in compared)


def _rules(diagnosis: Diagnosis) -> list[Rule]:
    """Those broken; that of a generated 16-bit picture is a note."""
    if not diagnosis.causes:
        return [rules.UNEXPLAINED]
    generated_only = all(case.picture.generated for case in diagnosis.after)
    return [
        rules.SIXTEEN_BITS_LOADER
        if cause.rule is rules.SIXTEEN_BITS and generated_only
        else cause.rule
        for cause in diagnosis.causes
    ]


def _findings(diagnoses: Sequence[Diagnosis], place: Place) -> Iterator[Finding]:
    """One a rule, with all its pictures."""
    by_rule: dict[Rule, list[Diagnosis]] = defaultdict(list)
    for diagnosis in diagnoses:
        for rule in _rules(diagnosis):
            by_rule[rule].append(diagnosis)
    for rule, same in by_rule.items():
        yield rule.at(place, _message(rule, same))


def _message(rule: Rule, diagnoses: Sequence[Diagnosis]) -> str:
    """What differs, in which pictures, and the evidence: the worst of them before and after."""
    clearest = min(diagnoses, key=lambda diagnosis: len(diagnosis.causes))
    worst = max(clearest.after, key=lambda case: (not case.picture.generated, case.before))
    names = [c.picture.name for d in diagnoses for c in d.after if c is not worst]
    also = f"; also {_listed(names)}" if names else ""
    shown = f"{worst.picture.name} differs by {worst.before:.2f} levels in the mean"
    if not clearest.causes:
        return f"no known cause: {shown}, {worst.picture.tolerance_levels:g} is allowed{also}"
    cause = next(c for c in clearest.causes if rule in (c.rule, rules.SIXTEEN_BITS_LOADER))
    left = clearest.after[worst]
    conditions = ["the server did the same"]
    conditions += [f"{one.rule.name} was mended" for one in clearest.causes if one is not cause]
    rest = " and the rest has another cause" if left > worst.picture.tolerance_levels else ""
    return f"{cause.words}: {shown}, by {left:.2f} if {' and '.join(conditions)}{rest}{also}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

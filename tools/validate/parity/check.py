"""Served pixels against trained pixels, picture by picture, and why they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tools.client.sources import Source, find
from tools.validate.findings import Finding, Place, Rule
from tools.validate.parity import references, report
from tools.validate.parity.comparison import (
    Compared,
    ParityRequest,
    ParityResult,
    Trouble,
    both_sides,
    served,
)
from tools.validate.parity.diagnose import Case, Diagnosis, diagnose
from tools.validate.parity.pictures import as_decoded, generated, photographs
from tools.validate.parity.recipe import Recipe
from tools.validate.rules import preprocessing as rules
from tools.validate.variants import evenly

MOST_PHOTOGRAPHS = 64
"""Enough to see every cause, few enough to be held in memory: each takes 1 MB and more."""
_NAMED = 3  # pictures that a finding names
_SEED = 20_240_805  # the same pictures in every run, so that two runs can be compared


def check_preprocessing(request: ParityRequest) -> ParityResult:
    """Compare what the server feeds with what training fed.

    Raises:
        ContractMismatch: the reference can't be used.
        OSError: an image can't be read, or the report not written.
    """
    training = references.load(request.reference, request.transform, request.training)
    found = find(map(str, request.images))
    chosen = evenly([one for one in found if training.has(one.name)] or found, MOST_PHOTOGRAPHS)
    pictures = photographs(chosen)
    if not request.reference.endswith(".npz"):
        pictures += generated(request.transform, np.random.default_rng(_SEED))
    if request.as_levels:
        pictures = list(as_decoded(pictures, request.transform))
    compared: list[Compared] = []
    troubles: dict[Trouble, list[str]] = defaultdict(list)
    fed = served(pictures, request.transform, request.as_levels)
    for picture, ours in zip(pictures, fed, strict=True):
        for one in both_sides(picture, ours, training.pixels, request.transform):
            if isinstance(one, Compared):
                compared.append(one)
            else:
                troubles[one].append(picture.name)
    place = Place(request.source)
    findings = [
        rule.at(place, f"{_listed(names)}: {message}")
        for (rule, message), names in troubles.items()
    ]
    if len(chosen) < len(found):
        message = f"compared {len(chosen)} of {len(found)} images: {_left_out(training, found)}"
        findings.append(rules.NOT_COMPARED.at(place, message))
    cases = [Case(one.picture, one.reference, one.mean) for one in compared if not one.agrees]
    diagnoses = list(diagnose(cases, Recipe.of(request.transform)))
    findings += _findings(diagnoses, place)
    result = ParityResult(tuple(findings), tuple(_explained(compared, diagnoses)))
    if request.report is not None:
        report.write(request.report, request.transform, request.reference, result)
    return result


def _left_out(training: references.Training, found: Sequence[Source]) -> str:
    lacking = sum(not training.has(one.name) for one in found)
    without = f"the reference has no array of {lacking}; " if lacking else ""
    return f"{without}at most {MOST_PHOTOGRAPHS} are"


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

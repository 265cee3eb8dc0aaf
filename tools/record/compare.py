"""Targets against the first one: at equal load, and at equal SLO; a winner only beyond noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from tools.record.at_load import Pair, at_loads
from tools.record.at_slo import Sustained, limits, question, sustained
from tools.record.curves import Curve, curves
from tools.record.difference import AT_SLO, Difference, Question, judged
from tools.record.record import Record


@dataclass(frozen=True)
class AtSlo:
    """Throughput within the SLO along one curve of loads.

    Attributes:
        protocol: of all.
        kind: ``closed`` or ``open``.
        arrivals: of an open load.
        sustained: by target, in the order of the record.
        differences: of each other target against the first.
    """

    protocol: str
    kind: str
    arrivals: str | None
    sustained: tuple[Sustained, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Comparison:
    """Both answers, whose winners share one limit on false ones.

    Attributes:
        at_equal_load: by curve, target and quantity: each load, then over all loads.
        at_equal_slo: by curve; empty where the record names no SLO.
    """

    at_equal_load: tuple[Difference, ...]
    at_equal_slo: tuple[AtSlo, ...]


def compare(record: Record) -> Comparison:
    """Both questions of all targets of one record; rounds of two records are no pairs."""
    lines = curves(record)
    loads = [one for line in lines for pair in _pairs(record, line) for one in at_loads(pair)]
    slo_ms = record.slo_p95_ms
    slos = [] if slo_ms is None else [_at_slo(record, line, slo_ms) for line in lines]
    answers = iter(judged([*loads, *(one for _, questions in slos for one in questions)]))
    return Comparison(
        tuple(islice(answers, len(loads))),
        tuple(
            replace(at_slo, differences=tuple(islice(answers, len(questions))))
            for at_slo, questions in slos
        ),
    )


def _pairs(record: Record, curve: Curve) -> Iterator[Pair]:
    names = [target.name for target in record.targets]
    if names and names[0] in curve.targets:
        yield from (Pair(curve, name, names[0]) for name in names[1:] if name in curve.targets)


def _at_slo(record: Record, curve: Curve, slo_ms: float) -> tuple[AtSlo, list[Question]]:
    found = {target: limits(loads, slo_ms) for target, loads in curve.targets.items()}
    questions = [
        question(pair.difference(AT_SLO, None, 0), found[pair.target], found[pair.against])
        for pair in _pairs(record, curve)
    ]
    reached = tuple(sustained(target, one) for target, one in found.items())
    return AtSlo(curve.protocol, curve.kind, curve.arrivals, reached, ()), questions

"""Targets against the first one: at equal load, and at equal SLO; a winner only beyond noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tools.record.intervals import Estimate, estimate
from tools.record.record import Cell, Load, Record
from tools.record.summary import cells_by_key, credit, quantile, why_unused

QUANTITIES = ("p95_ms", "throughput_per_s", "p50_ms", "p99_ms")


@dataclass(frozen=True)
class Difference:
    """One quantity of a target over that of the first target, paired by round.

    Failed requests count as infinitely late here.

    Attributes:
        quantity: one of ``QUANTITIES``, or ``throughput_at_slo_per_s``.
        load: at which; None: over all loads, or at the SLO.
        protocol: of both.
        target: its name.
        against: the first target's.
        rounds: in which both were measured.
        ratio: of target to against, with its 95% interval; None where it can't be had.
        bound: ``at least`` or ``at most`` where one of the two is only known to be beyond the
            loads tried.
        winner: name of the better one; None: no difference beyond noise, or a quantity that is
            described only.
        detectable: the least relative difference that would have had a winner, such as 0.08.
        reason: why there is no ratio.
    """

    quantity: str
    load: Load | None
    protocol: str
    target: str
    against: str
    rounds: int
    ratio: Estimate | None
    bound: str | None = None
    winner: str | None = None
    detectable: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Sustained:
    """The most answers a second that a target gives within the SLO.

    Attributes:
        target: its name.
        throughput_per_s: None where no load was within the SLO, or nothing is known.
        bound: ``at least``: every load tried was within; ``below``: already the least was not.
        rounds: that count.
    """

    target: str
    throughput_per_s: Estimate | None
    bound: str | None
    rounds: int


@dataclass(frozen=True)
class AtSlo:
    """The answer for one curve of loads.

    Attributes:
        protocol: of all.
        kind: ``closed`` or ``open``.
        arrivals: of an open load.
        sustained: by target, the first first.
        differences: of each other target against the first.
    """

    protocol: str
    kind: str
    arrivals: str | None
    sustained: tuple[Sustained, ...]
    differences: tuple[Difference, ...]


def at_equal_load(record: Record) -> tuple[Difference, ...]:
    """Each target against the first: per load and protocol, and over all loads."""
    first, *others = [target.name for target in record.targets]
    keyed = cells_by_key(record)
    found = []
    for target, load, protocol in keyed:
        if target in others and (first, load, protocol) in keyed:
            mine, base = keyed[target, load, protocol], keyed[first, load, protocol]
            for quantity in QUANTITIES:
                ours, theirs = _by_round(mine, quantity), _by_round(base, quantity)
                both = sorted(set(ours) & set(theirs))
                ratio = estimate(np.array([ours[n] / theirs[n] for n in both]))
                found.append(Difference(quantity, load, protocol, target, first, len(both), ratio))
    return tuple(found)


def _by_round(cells: list[Cell], quantity: str) -> dict[int, float]:
    values = {}
    for cell in cells:
        if why_unused(cell) is None:
            late_s = np.where(cell.samples.served, cell.samples.latency_s, np.inf)
            value = quantile(
                np.sort(1e3 * late_s), {"p50_ms": 0.5, "p99_ms": 0.99}.get(quantity, 0.95)
            )
            if quantity == "throughput_per_s":
                value = float(credit(cell)[cell.samples.served].sum() / cell.duration_s)
            if value is not None:
                values[cell.round] = value
    return values


def at_equal_slo(record: Record) -> tuple[AtSlo, ...]:
    """Throughput while p95 is within the SLO; empty where the record names none."""
    return ()

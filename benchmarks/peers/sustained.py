"""What a record says: throughput at the service level, round by round, and one over another."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from tools.record.at_slo import Limit, Point, limit, question, sustained
from tools.record.difference import AT_SLO, Difference
from tools.record.intervals import Estimate

Json = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """One server on one set of photographs; None is not known.

    Attributes:
        images_per_s: at the service level, with its 95% interval.
        bound: ``at least``, ``at most`` or ``none``, where the loads did not reach it.
        most_images_per_s: at any load, the median of the rounds.
        p50_ms: of one caller, the median of the rounds.
        server_cpu_ms: an image, at the highest load, the median of the rounds.
        client_cpu_ms: the same of the load generator.
    """

    images_per_s: Estimate | None
    bound: str | None
    most_images_per_s: float | None
    p50_ms: float | None
    server_cpu_ms: float | None
    client_cpu_ms: float | None


def of_peer(record: Json, set_name: str, peer: str) -> Result:
    """One server on one set."""
    cells = cells_of(record, set_name, peer)
    loads = sorted({cell["callers"] for cell in cells})
    found = sustained(peer, limits(record, set_name, peer))
    at = {n: [cell for cell in cells if cell["callers"] == n] for n in loads}
    rates = [middle(cell["images_per_s"] for cell in rows) for rows in at.values()]
    highest = at[loads[-1]] if loads else []
    return Result(
        found.throughput_per_s,
        found.bound,
        max((rate for rate in rates if rate is not None), default=None),
        middle(cell["p50_ms"] for cell in at.get(1, [])),
        middle(cell["server_cpu_ms"] for cell in highest),
        middle(cell["client_cpu_ms"] for cell in highest),
    )


def cells_of(record: Json, set_name: str, peer: str) -> list[Json]:
    """Those that count."""
    return [
        cell
        for cell in record["cells"]
        if (cell["set"], cell["peer"]) == (set_name, peer) and not cell["unused"]
    ]


def limits(record: Json, set_name: str, peer: str) -> dict[int, Limit]:
    """Throughput at the service level in each round that has all loads."""
    (described,) = (one for one in record["sets"] if one["name"] == set_name)
    rounds: dict[int, list[Json]] = {}
    for cell in cells_of(record, set_name, peer):
        rounds.setdefault(cell["round"], []).append(cell)
    return {
        number: limit(curve(cells), described["slo_p95_ms"])
        for number, cells in sorted(rounds.items())
        if len(cells) == len(described["callers"])
    }


def curve(cells: Iterable[Json]) -> list[Point]:
    """One round's loads, ascending; nothing answered is infinitely late."""
    return [
        Point(math.inf if cell["p95_ms"] is None else cell["p95_ms"], cell["images_per_s"])
        for cell in sorted(cells, key=lambda cell: int(cell["callers"]))
    ]


def over(record: Json, set_name: str, mine: str, theirs: str) -> Difference:
    """Throughput at the service level of one server over another's, paired by round."""
    asked = Difference(AT_SLO, None, "", "closed", None, mine, theirs, rounds=0)
    pair = (limits(record, set_name, mine), limits(record, set_name, theirs))
    return question(asked, *pair).difference


def middle(values: Iterable[float | None]) -> float | None:
    """The median of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None

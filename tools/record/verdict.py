"""What a record shows, in a sentence that can't flatter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tools.record.at_slo import Sustained
from tools.record.cells import why_unused
from tools.record.compare import AtSlo, Comparison, compare
from tools.record.difference import AT_SLO, Difference
from tools.record.intervals import MIN_ROUNDS, Estimate
from tools.record.record import Record
from tools.record.summary import Summary, summarise
from tools.record.words import HARDLY, amount, ends, higher, inverse, lower, percent
from tools.terminal import plain

CLOSED_LOOP = (
    "In a closed loop nobody sends while the server stalls, so that a stall hardly shows; "
    "an open loop shows it."
)
NOTABLE_FAILURES = 1e-3
"""Share of the requests from which failures are worth a note."""


@dataclass(frozen=True)
class Verdict:
    """What may be said of a record.

    Attributes:
        sentences: for people, one for each curve and target.
        notes: what a reader has to know to trust it, a sentence each; may be empty.
        at_equal_load: the differences behind it.
        at_equal_slo: the same, at the SLO.
    """

    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    at_equal_load: tuple[Difference, ...]
    at_equal_slo: tuple[AtSlo, ...]

    @property
    def sentence(self) -> str:
        """All of them on one line."""
        return " ".join(self.sentences)


def verdict(record: Record, summaries: Sequence[Summary] | None = None) -> Verdict:
    """The sentence, and what is behind it.

    Args:
        record: of which.
        summaries: of it, where they are at hand.
    """
    comparison, summaries = compare(record), summaries or summarise(record)
    nothing = _nothing(record)
    said = [nothing] if nothing else _said(record, comparison, summaries)
    notes = tuple(map(plain, _notes(record, summaries)))
    sentences = tuple(map(plain, said))
    return Verdict(sentences, notes, comparison.at_equal_load, comparison.at_equal_slo)


def _nothing(record: Record) -> str | None:
    """Why nothing can be said; None: something can."""
    reasons = [why_unused(cell) for cell in record.cells]
    if not reasons:
        return "Nothing can be said: nothing was measured."
    if None not in reasons:
        return f"Nothing can be said: no cell counts ({_most(map(str, reasons))})."
    if not any(len(cell.samples) for cell in record.cells):
        return "Nothing can be said: no request was recorded."
    return None


def _most(words: Iterable[str]) -> str:
    (word, _), *others = Counter(words).most_common()
    return word + (", and other reasons" if others else "")


def _said(record: Record, comparison: Comparison, summaries: Sequence[Summary]) -> Iterator[str]:
    """A sentence for each curve and target."""
    unit = "images" if all(kind.rows == 1 for kind in record.mix) else "requests"
    pairs = _pairs(comparison)
    for differences in pairs:
        protocols = {pair[0].protocol for pair in pairs}
        where = _where(differences[0], len(protocols) > 1)
        yield f"{where}, {_pair(differences, unit, record.slo_p95_ms)}."
    if not pairs:
        yield from _alone(comparison, summaries, unit, record.slo_p95_ms)


def _pairs(comparison: Comparison) -> list[list[Difference]]:
    """Differences of each curve and target."""
    found: dict[tuple[str | None, ...], list[Difference]] = {}
    at_slo = (one for answer in comparison.at_equal_slo for one in answer.differences)
    for one in (*comparison.at_equal_load, *at_slo):
        found.setdefault((one.protocol, one.kind, one.arrivals, one.target), []).append(one)
    return [*found.values()]


def _where(of: Difference | AtSlo, with_protocol: bool) -> str:
    """Which loads are spoken of."""
    loop = "In a closed loop" if of.kind == "closed" else f"With {of.arrivals} arrivals"
    return loop + (f" over {of.protocol}" if with_protocol else "")


def _pair(differences: Sequence[Difference], unit: str, slo_ms: float | None) -> str:
    p95, throughput, at_slo = (
        [one for one in differences if one.quantity == quantity]
        for quantity in ("p95_ms", "throughput_per_s", AT_SLO)
    )
    said = [
        *(_at_slo(one, unit, slo_ms) for one in at_slo if one.winner),
        *_at_loads(p95, "p95"),
    ]
    said = said or [*_at_loads(throughput, "throughput")]
    return ", and ".join(said) or _no_difference(p95)


def _at_slo(one: Difference, unit: str, slo_ms: float | None) -> str:
    assert one.ratio is not None
    ratio, other = _of_winner(one, one.ratio)
    return (
        f"{one.winner} serves {'at least ' if one.bound else ''}{amount(ratio.value)} times the "
        f"{unit} of {other} within p95 ≤ {slo_ms:g} ms{ends(ratio, amount)}"
    )


def _of_winner(one: Difference, ratio: Estimate) -> tuple[Estimate, str]:
    """The ratio as the winner has it, and who lost."""
    if one.winner == one.target:
        return ratio, one.against
    return inverse(ratio), one.target


def _at_loads(differences: Sequence[Difference], name: str) -> Iterator[str]:
    """Who is better at how many loads, and by how much at the least and at the most."""
    loads = [one for one in differences if one.load is not None]
    change = "lower" if name == "p95" else "higher"
    winners = dict.fromkeys(one.winner for one in loads if one.winner)
    for winner in winners:
        won = [one for one in loads if one.winner == winner]
        yield f"{winner}'s {name} is {change} at {len(won)} of {len(loads)} loads{_extent(won)}"
    for one in differences:
        if one.load is None and one.winner and not winners:
            yield f"{one.winner}'s {name} is {change} over all loads{_extent([one])}"


def _extent(won: Sequence[Difference]) -> str:
    """Never the best load alone."""
    known = [(one, _of_winner(one, one.ratio)[0]) for one in won if one.ratio]
    if not known:
        return f" ({won[0].reason})"
    known.sort(key=lambda item: abs(math.log(item[1].value)))
    said = [
        (lower(ratio) if one.lower_is_better else higher(ratio))
        + (f" at {one.load.label}" if one.load else "")
        for one, ratio in dict.fromkeys((known[0], known[-1]))
    ]
    return ", by " + " to ".join(said)


def _no_difference(p95: Sequence[Difference]) -> str:
    """With what could have been seen, which is what the answer is worth."""
    if not p95:
        return "no load was measured on both"
    who = f"between {p95[0].target} and {p95[0].against}"
    loads = [one.detectable for one in p95 if one.load and one.detectable is not None]
    overall = [one.detectable for one in p95 if not one.load and one.detectable is not None]
    if loads:
        return _hidden(who, max(loads), overall[0] if overall else None)
    rounds = max(one.rounds for one in p95)
    counted = "1 counts" if rounds == 1 else f"{rounds} count"
    few = f"noise is known from {MIN_ROUNDS} rounds on, and {counted}"
    return f"no difference can be told {who}: {few if rounds < MIN_ROUNDS else p95[0].reason}"


def _hidden(who: str, at_load: float, overall: float | None) -> str:
    """What noise may hide, at one load and over all."""
    least = min(at_load, math.inf if overall is None else overall)
    if least > HARDLY:
        return f"no difference can be told {who}: even twice the p95 may be hidden by noise"
    at_one = f"one of {percent(at_load)}% or more in p95 at a load"
    over_all = f", or of {percent(overall)}% over all," if overall is not None else ""
    if at_load > HARDLY:
        at_one, over_all = f"one of {percent(least)}% or more in p95 over all loads", ""
    return f"no difference beyond noise {who}: {at_one}{over_all} would mostly have been seen"


def _alone(
    comparison: Comparison, summaries: Sequence[Summary], unit: str, slo_ms: float | None
) -> Iterator[str]:
    """Without anything to compare with: a sentence for each curve."""
    several = len({summary.protocol for summary in summaries}) > 1
    for at_slo in comparison.at_equal_slo:
        said = [_limit(one, unit, f"p95 ≤ {slo_ms:g} ms") for one in at_slo.sustained]
        yield f"{_where(at_slo, several)}, {'; '.join(said)}."
    if slo_ms is None:
        yield "; ".join(_p95(one, several) for one in summaries) + "."


def _p95(of: Summary, with_protocol: bool) -> str:
    known = "not known" if of.p95_ms is None else amount(of.p95_ms.value) + " ms"
    known += "" if of.p95_ms is None else ends(of.p95_ms, amount)
    over = f" over {of.protocol}" if with_protocol else ""
    return f"{of.target}'s p95 at {of.load.label}{over} is {known}"


def _limit(one: Sustained, unit: str, slo: str) -> str:
    if one.bound == "none":
        return f"{one.target} is outside {slo} already at the least load"
    value = one.throughput_per_s
    if value is None:
        return f"what {one.target} serves within {slo} is not known"
    bound = f"{one.bound} " if one.bound else ""
    served = f"{bound}{amount(value.value)} {unit}/s"
    return f"{one.target} serves {served} within {slo}{ends(value, amount)}"


def _notes(record: Record, summaries: Sequence[Summary]) -> Iterator[str]:
    if any(cell.load.kind == "closed" for cell in record.cells):
        yield CLOSED_LOOP
    if record.interrupted:
        yield "The run was interrupted: this is what was measured until then."
    reasons = [reason for cell in record.cells if (reason := why_unused(cell)) is not None]
    if reasons:
        verb = "does" if len(reasons) == 1 else "do"
        yield f"{len(reasons)} of {len(record.cells)} cells {verb} not count: {_most(reasons)}."
    for target in dict.fromkeys(summary.target for summary in summaries):
        yield from _failures([summary for summary in summaries if summary.target == target])


def _failures(summaries: Sequence[Summary]) -> Iterator[str]:
    requests = sum(summary.requests for summary in summaries)
    causes: Counter[str] = Counter()
    for summary in summaries:
        causes.update(summary.errors)
    if causes.total() > NOTABLE_FAILURES * requests:
        most, _ = causes.most_common(1)[0]
        share = percent(causes.total() / requests)
        yield f"{summaries[0].target} failed {share}% of its requests, most often {most}."

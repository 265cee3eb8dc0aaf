"""A record as it is reported: with its name, its summaries, and the curves that they lie on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tools.record.intervals import Estimate
from tools.record.record import Load, Record
from tools.record.summary import StageSummary, Summary, summarise
from tools.record.verdict import Verdict, verdict
from tools.report.words import counted, number


class Curve(NamedTuple):
    """Loads that differ in their amount only.

    Attributes:
        kind: ``closed`` or ``open``.
        arrivals: of an open load.
        protocol: ``grpc`` or ``http``.
    """

    kind: str
    arrivals: str | None
    protocol: str

    @property
    def title(self) -> str:
        """For a heading."""
        loop = "Closed loop" if self.kind == "closed" else f"Open loop, {self.arrivals} arrivals"
        return f"{loop}, {self.protocol}"


@dataclass(frozen=True)
class Sheet:
    """What is reported of one record, reduced once, when it is first asked for.

    Attributes:
        name: tells it from the others.
        record: as it was read.
    """

    name: str
    record: Record

    @cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """One for each target, load and protocol."""
        return summarise(self.record)

    @cached_property
    def verdict(self) -> Verdict:
        """What may be said of it."""
        return verdict(self.record, self.summaries)

    @cached_property
    def curves(self) -> dict[Curve, list[Summary]]:
        """Summaries by curve."""
        found: dict[Curve, list[Summary]] = {}
        for one in self.summaries:
            found.setdefault(curve_of(one.load, one.protocol), []).append(one)
        return found

    @property
    def machine(self) -> str:
        """Where it was measured."""
        machine = self.record.origin.get("machine")
        fields = machine if isinstance(machine, dict) else {}
        cores = fields.get("cores")
        cpu = str(fields.get("cpu", "unknown processor"))
        return f"{counted(cores, 'core')} of {cpu}" if isinstance(cores, int) else cpu

    def stages_of(self, summary: Summary) -> list[StageSummary]:
        """An ensemble's steps without itself, whose time is theirs; else every model."""
        steps = [one.steps for one in self.record.targets if one.name == summary.target]
        known = {step for several in steps for step in several}
        return [stage for stage in summary.stages if not known or stage.model in known]


def curve_of(load: Load, protocol: str) -> Curve:
    """The curve on which a load lies."""
    return Curve(load.kind, load.arrivals, protocol)


def places(sheets: Sequence[Sheet]) -> dict[str, int]:
    """Each target's number: the same name looks the same in every record."""
    names = dict.fromkeys(target.name for one in sheets for target in one.record.targets)
    return {name: place for place, name in enumerate(names)}


def of_target(summaries: Iterable[Summary], name: str) -> list[Summary]:
    """Those of one target."""
    return [one for one in summaries if one.target == name]


def amount(load: Load) -> str:
    """A load's name among those of its curve."""
    return load.label if load.kind == "closed" else f"{load.value:g}/s"


def value_of(estimate: Estimate | None) -> float | None:
    """Without its interval."""
    return None if estimate is None else estimate.value


def interval_of(estimate: Estimate | None) -> tuple[float, float] | None:
    """Its ends, where they are known."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return estimate.low, estimate.high


def interval_words(estimate: Estimate | None) -> str:
    """``[178 to 186]``; empty where it is not known."""
    ends = interval_of(estimate)
    return "" if ends is None else f"[{number(ends[0])} to {number(ends[1])}]"


def estimated(estimate: Estimate | None) -> str:
    """``182 [178 to 186]``."""
    return f"{number(value_of(estimate))} {interval_words(estimate)}".strip()

"""From the models of a server to rows: ensembles with their stages under them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tools.doctor.stage import Stage
from tools.statistics.counters import Model
from tools.statistics.metrics import Metrics
from tools.top.view import Row

MAX_DEPTH = 8
"""Of ensembles within ensembles; what is deeper is listed by itself."""


def chosen(stages: Sequence[Stage], names: Sequence[str]) -> list[Stage]:
    """Models of these names and, of ensembles, their stages; all of them without a name."""
    wanted, waiting = set[str](), set(names)
    while waiting:
        wanted |= waiting
        steps = (set(one.config.steps) for one in stages if one.model.name in waiting)
        waiting = set[str]().union(*steps) - wanted
    return [one for one in stages if not names or one.model.name in wanted]


def rows_of(stages: Sequence[Stage], metrics: Metrics) -> tuple[Row, ...]:
    """A row for each stage: ensembles first, each with its stages; what was never called last."""
    loaded = _Loaded({stage.model.name: stage for stage in sorted(stages, key=_by_version)})
    return tuple(_row(stage, depth, metrics, loaded) for stage, depth in _tree(stages, loaded))


def _by_version(stage: Stage) -> tuple[int, str]:
    version = stage.model.version
    return (int(version) if version.isdecimal() else 0, version)


@dataclass(frozen=True)
class _Loaded:
    """What is loaded, by name; an ensemble calls the newest version.

    Attributes:
        newest: stage of each name.
        waits_s: of the steps that ``queue_s`` has seen; None also while it looks, for circles.
    """

    newest: dict[str, Stage]
    waits_s: dict[str, float | None] = field(default_factory=dict)

    def members(self, ensemble: Stage) -> list[Stage]:
        """Steps that are loaded, each once."""
        names = dict.fromkeys(ensemble.config.steps)
        return [self.newest[name] for name in names if name in self.newest]

    def leaves(self, stage: Stage) -> list[Stage]:
        """Models that its requests queue for, each once; a plain model itself."""
        found: dict[Model, Stage] = {}
        seen: set[Model] = set()
        waiting = [stage]
        while waiting:
            one = waiting.pop()
            if one.model not in seen and not one.config.is_ensemble:
                found[one.model] = one
            elif one.model not in seen:
                waiting += self.members(one)
            seen.add(one.model)
        return list(found.values())

    def queue_s(self, stage: Stage, depth: int = 0) -> float | None:
        """Mean wait of a request in all queues, None where a step is not loaded.

        The means of the steps add up, whoever else calls them.
        """
        total_s: float | None = stage.queue_s
        for name in stage.config.steps:
            if name not in self.waits_s:
                self.waits_s[name] = None
                if name in self.newest and depth < MAX_DEPTH:
                    self.waits_s[name] = self.queue_s(self.newest[name], depth + 1)
            step_s = self.waits_s[name]
            total_s = None if total_s is None or step_s is None else total_s + step_s
        return total_s


def _tree(stages: Sequence[Stage], loaded: _Loaded) -> Iterator[tuple[Stage, int]]:
    """Each stage once, under the first ensemble that has it."""
    members = {step for stage in stages for step in stage.config.steps}
    seen: set[Model] = set()

    def under(stage: Stage, depth: int) -> Iterator[tuple[Stage, int]]:
        if stage.model in seen or depth > MAX_DEPTH:
            return
        seen.add(stage.model)
        yield stage, depth
        for member in loaded.members(stage):
            yield from under(member, depth + 1)

    ordered = sorted(stages, key=_place)
    for stage in ordered:
        if stage.model.name not in members:
            yield from under(stage, 0)
    for stage in ordered:  # ensembles that hold each other, and older versions of members
        yield from under(stage, 0)


def _place(stage: Stage) -> tuple[bool, bool, str, tuple[int, str]]:
    counters = stage.moments[-1].counters
    never = counters.requests + counters.failures == 0
    return never, not stage.config.is_ensemble, stage.model.name, _by_version(stage)


def _row(stage: Stage, depth: int, metrics: Metrics, loaded: _Loaded) -> Row:
    leaves = loaded.leaves(stage)
    return Row(
        stage,
        depth,
        loaded.queue_s(stage) if stage.seen.requests else None,
        metrics.quantiles_s.get(stage.model, {}),
        _total([metrics.pending.get(one.model) for one in leaves]),
        _total([_rejected(one, metrics) for one in leaves]),
        any(_may_refuse(one) for one in leaves),
    )


def _rejected(stage: Stage, metrics: Metrics) -> int | None:
    """None where the server names no reasons."""
    if stage.reasons is None or "REJECTED" not in metrics.failures.get(stage.model, {}):
        return None
    return stage.reasons.get("REJECTED", 0)


def _may_refuse(stage: Stage) -> bool:
    batching = stage.config.batching
    bounded = batching is not None and any(one.max_queue_size for one in batching.policies)
    return bounded or stage.config.is_sequence


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None

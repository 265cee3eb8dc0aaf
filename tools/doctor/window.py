"""Watch a server for a while: snapshots in a row, and a stage for each model from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ensemble.errors import ContractMismatch, ServingError
from tools.clock import Clock
from tools.doctor.stage import Moment, Stage, Watched
from tools.statistics.configuration import Config, read_config
from tools.statistics.counters import Counters, Model
from tools.statistics.http import ask, get_json, in_brief
from tools.statistics.snapshot import Snapshot, are_foreign, take

PERIOD_S = 0.1
"""Between samples: a stall of 500 ms must show."""
MIN_STEP_S = 1e-3
MAX_SAMPLES = 600
MAX_MISSED = 5
"""Samples in a row without an answer that a busy server may have."""


@dataclass(frozen=True)
class Target:
    """What to watch.

    Attributes:
        url: of HTTP, with scheme, without a slash at the end.
        metrics_url: of Prometheus; None is none.
        models: names; none is every model that is loaded.
        window_s: for how long.
    """

    url: str
    metrics_url: str | None
    models: tuple[str, ...]
    window_s: float


@dataclass
class Record:
    """Snapshots of one window.

    Attributes:
        snapshots: in order.
        interrupted: whether Ctrl-C ended it.
        missed: samples that did not answer.
    """

    snapshots: list[Snapshot] = field(default_factory=list)
    interrupted: bool = False
    missed: int = 0


def record(
    target: Target, tick: Callable[[float], object] = lambda _: None, clock: Clock | None = None
) -> Record:
    """Snapshots over the window; Ctrl-C ends it early.

    Args:
        target: what to watch.
        tick: called with the seconds that have passed.
        clock: time.

    Raises:
        ServingError: the server does not answer, or stopped to.
        ContractMismatch: a model that was asked for is not loaded.
    """
    clock = clock or Clock()
    result = Record([take(target.url, target.metrics_url, clock.now_s)])
    check_names(target.models, result.snapshots[0])
    start_s = result.snapshots[0].at_s
    period_s = max(PERIOD_S, target.window_s / MAX_SAMPLES)
    in_a_row = 0
    try:
        while (left_s := target.window_s - (clock.now_s() - start_s)) > MIN_STEP_S:
            tick(target.window_s - left_s)
            clock.sleep(min(period_s, left_s))
            try:
                result.snapshots.append(take(target.url, target.metrics_url, clock.now_s))
                in_a_row = 0
            except ServingError:
                in_a_row += 1
                result.missed += 1
                if in_a_row >= MAX_MISSED:
                    raise
    except KeyboardInterrupt:
        result.interrupted = True
    if len(result.snapshots) < 2:  # a stall or a short window left one, which tells nothing
        result.snapshots.append(take(target.url, target.metrics_url, clock.now_s))
    tick(target.window_s)
    return result


def check_names(names: Sequence[str], first: Snapshot) -> None:
    """Nothing, when a model of each name is there.

    Raises:
        ContractMismatch: one is not.
    """
    loaded = sorted({in_brief(model.name) for model in first.counters})
    for name in names:
        if name not in loaded:
            raise ContractMismatch(
                f"--model {name}: expected a model that is loaded, got none of that name among "
                f"{', '.join(loaded) or 'no models at all'}"
            )


def watched(target: Target, result: Record) -> Watched:
    """Stages from snapshots; configurations are read now.

    Raises:
        ServingError: the server does not answer.
    """
    snapshots, foreign = result.snapshots, are_foreign(result.snapshots)
    if foreign:
        snapshots = [replace(one, metrics=None) for one in snapshots]
    last = snapshots[-1]
    wanted = [m for m in last.counters if not target.models or m.name in target.models]
    configs = {model: read_config(target.url, model) for model in last.counters}
    members = {
        name for model in configs if _moved(snapshots, model) for name in configs[model].steps
    }
    stages = [
        replace(
            stage_of(model, configs[model], snapshots),
            ready=read_ready(target.url, model),
            is_member=model.name in members,
        )
        for model in (*wanted, *_steps_of(wanted, configs))
    ]
    return Watched(
        url=target.url,
        version=str(get_json(f"{target.url}/v2").get("version", "unknown")),
        stages=tuple(stages),
        window_s=last.at_s - snapshots[0].at_s,
        metrics_url=target.metrics_url if last.metrics is not None else None,
        foreign_metrics_url=target.metrics_url if foreign else None,
        interrupted=result.interrupted,
        missed=result.missed,
    )


def _moved(snapshots: Sequence[Snapshot], model: Model) -> bool:
    first = snapshots[0].counters.get(model)
    return first is None or first.requests != snapshots[-1].counters[model].requests


def _steps_of(wanted: Sequence[Model], configs: Mapping[Model, Config]) -> Iterator[Model]:
    """Stages of the ensembles that are wanted, which say why an ensemble is slow."""
    names = {name for model in wanted for name in configs[model].steps}
    return (model for model in configs if model.name in names and model not in wanted)


def read_ready(url: str, model: Model) -> bool | None:
    """What the model says of itself; None when it says nothing."""
    try:
        return ask(f"{url}{model.path}/ready").status == 200
    except ServingError:
        return None


def stage_of(model: Model, config: Config, snapshots: Sequence[Snapshot]) -> Stage:
    """One model of a row of snapshots, since it was last loaded."""
    there = [one for one in snapshots if model in one.counters]
    begin = 0
    for n in range(1, len(there)):
        if not there[n - 1].counters[model].is_before(there[n].counters[model]):
            begin = n
    life = there[begin:]
    moments = [
        Moment(
            one.at_s,
            one.counters[model],
            one.metrics.pending.get(model) if one.metrics else None,
        )
        for one in life
    ]
    if len(moments) < 2:  # loaded just now, so what it counts began after the sample before
        moments.insert(0, Moment(snapshots[-2].at_s, Counters()))
    reloaded = begin > 0 or len(there) < len(snapshots)
    return Stage(model, config, tuple(moments), reasons=_reasons(model, life), reloaded=reloaded)


def _reasons(model: Model, life: Sequence[Snapshot]) -> dict[str, int] | None:
    """Failures by reason; their counters go on over a reload, and restart after an unload."""
    ends = [
        one.metrics.failures.get(model, {}) for one in (*life[:1], *life[1:][-1:]) if one.metrics
    ]
    if len(ends) < 2:
        return None
    added = {reason: count - ends[0].get(reason, 0) for reason, count in ends[1].items()}
    return {reason: count for reason, count in added.items() if count > 0}

"""Render a repository of sleeping models whose batching comes from ``ensemble.profiles``.

Times are those of a GPU, stretched by ``STRETCH``: service times and the profiles' delays and
timeouts alike, so that what a thread hand-off or a busy core adds stays small beside them.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ensemble.pbtxt import from_fields, render
from ensemble.profiles import PROFILES, STAGES

STRETCH = 10
MAX_BATCH_SIZE = 64
MODEL_CODE = Path(__file__).with_name("sleeping_model.py")
_WIRES = {"preprocess": ("IMAGE", "PIXELS"), "classifier": ("PIXELS", "LOGITS")}
_WIRES["postprocess"] = ("LOGITS", "CLASS_ID")

Fields = dict[str, Any]


@dataclass(frozen=True)
class Cost:
    """An execution of n images takes a + c*n ms."""

    a_ms: float
    c_ms: float

    def of_ms(self, images: float) -> float:
        """Milliseconds of one execution."""
        return self.a_ms + self.c_ms * images


Costs = dict[str, Cost]

TANDEM: Costs = {
    "preprocess": Cost(3, 1.2),
    "classifier": Cost(20, 3),
    "postprocess": Cost(1, 0.1),
}
SINGLE: Costs = {"classifier": Cost(20, 3)}
CPU_LIKE: Costs = {"classifier": Cost(3, 20)}
"""Batching gains nothing here: almost all of the time is per image."""
PREPROCESS_BOUND: Costs = TANDEM | {"preprocess": Cost(3, 8)}


@dataclass(frozen=True)
class Variant:
    """One model or ensemble of the repository.

    Attributes:
        name: of the ensemble; with a stage behind it, of a stage.
        costs: of each stage that it has, in the order of ``STAGES``.
        batching: of each stage, in the proto's names and in the time of the measurement.
        max_batch_size: of every stage.
        instances: of a stage that has more than one.
    """

    name: str
    costs: Costs
    batching: dict[str, Fields | None]
    max_batch_size: int = MAX_BATCH_SIZE
    instances: dict[str, int] = field(default_factory=dict)

    @property
    def stages(self) -> tuple[str, ...]:
        """Those that it has, in order."""
        return tuple(stage for stage in STAGES if stage in self.costs)

    @property
    def entry(self) -> str:
        """The model that a client calls."""
        return self.name if len(self.costs) > 1 else self.model(self.stages[0])

    def model(self, stage: str) -> str:
        """The model of one stage."""
        return f"{self.name}-{stage}"

    @property
    def capacity_per_s(self) -> float:
        """Images a second of the slowest stage when its batches are full."""
        full = self.max_batch_size
        return min(1e3 * full / cost.of_ms(full) for cost in self.costs.values())


def of_profile(
    profile: str, costs: Costs, prefix: str = "", max_batch_size: int = MAX_BATCH_SIZE
) -> Variant:
    """The variant that has the batching of a profile, stretched."""
    batching = {stage: stretched(PROFILES[profile].dynamic_batching(stage)) for stage in costs}
    return Variant(prefix + profile, costs, batching, max_batch_size)


def stretched(fields: Fields | None) -> Fields | None:
    """The same batching with every ``_microseconds`` multiplied by ``STRETCH``."""
    if fields is None:
        return None
    result: Fields = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            result[name] = stretched(value)
        else:
            result[name] = value * STRETCH if name.endswith("_microseconds") else value
    return result


def write_repository(repository: Path, variants: list[Variant]) -> None:
    """Write every model of every variant."""
    for variant in variants:
        for stage in variant.stages:
            _write(repository, variant.model(stage), _stage(variant, stage))
            shutil.copyfile(MODEL_CODE, repository / variant.model(stage) / "1" / "model.py")
        if len(variant.costs) > 1:
            _write(repository, variant.name, _ensemble(variant))


def _write(repository: Path, model: str, fields: Fields) -> None:
    (repository / model / "1").mkdir(parents=True)
    text = render(from_fields(fields | {"name": model}), "Rendered for a measurement.")
    (repository / model / "config.pbtxt").write_text(text, encoding="utf-8")


def _stage(variant: Variant, stage: str) -> Fields:
    cost = variant.costs[stage]
    source, sink = _WIRES[stage]
    fields: Fields = {
        "backend": "python",
        "max_batch_size": variant.max_batch_size,
        "input": [_tensor(source)],
        "output": [_tensor(sink)],
        "instance_group": [{"kind": "KIND_CPU", "count": variant.instances.get(stage, 1)}],
        "parameters": {
            "a_ms": {"string_value": str(cost.a_ms)},
            "c_ms": {"string_value": str(cost.c_ms)},
        },
    }
    batching = variant.batching[stage]
    return fields if batching is None else fields | {"dynamic_batching": batching}


def _ensemble(variant: Variant) -> Fields:
    first, last = variant.stages[0], variant.stages[-1]
    steps = [
        {
            "model_name": variant.model(stage),
            "model_version": -1,
            "input_map": {_WIRES[stage][0]: _WIRES[stage][0]},
            "output_map": {_WIRES[stage][1]: _WIRES[stage][1]},
        }
        for stage in variant.stages
    ]
    return {
        "platform": "ensemble",
        "max_batch_size": variant.max_batch_size,
        "input": [_tensor(_WIRES[first][0])],
        "output": [_tensor(_WIRES[last][1])],
        "ensemble_scheduling": {"step": steps},
    }


def _tensor(name: str) -> Fields:
    return {"name": name, "data_type": "TYPE_UINT8", "dims": [1]}

"""Small sleeping models, one for each thing that a doctor should find."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from benchmarks.batching.sleepers import MODEL_CODE
from ensemble.pbtxt import from_fields, render

Fields = dict[str, Any]
MAX_BATCH_SIZE = 8
LATE: Fields = {"default_queue_policy": {"max_queue_size": 100}}
LEVELS: Fields = {"priority_levels": 2, "default_priority_level": 2}


def model(a_ms: float = 40, batching: Fields | None = None, **more: Any) -> Fields:
    """A stage whose execution of n requests takes ``a_ms`` and 1 ms for each of them."""
    fields: Fields = {
        "backend": "python",
        "max_batch_size": MAX_BATCH_SIZE,
        "input": [tensor("IN")],
        "output": [tensor("OUT")],
        "instance_group": [{"kind": "KIND_CPU", "count": 1}],
        "parameters": {"a_ms": {"string_value": str(a_ms)}, "c_ms": {"string_value": "1"}},
    }
    if batching is not None:
        fields["dynamic_batching"] = batching
    return fields | more


def tensor(name: str, size: int = 1, **more: Any) -> Fields:
    """``(size,) uint8``."""
    return {"name": name, "data_type": "TYPE_UINT8", "dims": [size], **more}


def chain(*stages: str) -> Fields:
    """An ensemble of models one behind the other."""
    wires = ["IN", *(f"WIRE_{n}" for n in range(1, len(stages))), "OUT"]
    return {
        "platform": "ensemble",
        "max_batch_size": MAX_BATCH_SIZE,
        "input": [tensor("IN")],
        "output": [tensor("OUT")],
        "ensemble_scheduling": {
            "step": [
                {
                    "model_name": stage,
                    "model_version": -1,
                    "input_map": {"IN": wires[n]},
                    "output_map": {"OUT": wires[n + 1]},
                }
                for n, stage in enumerate(stages)
            ]
        },
    }


def write(root: Path, models: dict[str, Fields]) -> Path:
    """A repository of these models."""
    for name, fields in models.items():
        (root / name / "1").mkdir(parents=True)
        text = render(from_fields(fields | {"name": name}), "Rendered for a test.")
        (root / name / "config.pbtxt").write_text(text, encoding="utf-8")
        if "ensemble_scheduling" not in fields:
            shutil.copyfile(MODEL_CODE, root / name / "1" / "model.py")
    return root

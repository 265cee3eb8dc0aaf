"""PIXELS that are whole levels: the stage of the classifier normalises them for its model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tritonclient.grpc.model_config_pb2 import DataType, ModelConfig

from ensemble.tensors import LEVELS
from ensemble.transform import Transform
from tools.validate.polled import Model


def levels_given(models: Mapping[str, Model]) -> bool:
    """Whether the repository's ``preprocess`` gives levels."""
    return "preprocess" in models and _is_levels(models["preprocess"].config.output)


def normalised(config: Any, model: Path) -> Any:
    """The configuration as it is after normalising, which is what the model has to fit.

    Args:
        config: Triton's ``ModelConfig`` of a classifier.
        model: its ONNX file; the transform is beside it where the stage normalises.
    """
    transform = model.with_name("transform.json")
    if not (_is_levels(config.input) and transform.is_file()):
        return config
    changed = ModelConfig()
    changed.CopyFrom(config)
    changed.input[0].data_type = DataType.Value(f"TYPE_{Transform.from_file(transform).dtype}")
    return changed


def _is_levels(tensors: Any) -> bool:
    return len(tensors) == 1 and tensors[0].data_type == DataType.Value(LEVELS)

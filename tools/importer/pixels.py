"""The declared transform, fitted to the size, layout and dtype of a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ensemble.errors import ContractMismatch
from ensemble.presets import PRESETS, read_toml
from ensemble.transform import MAX_SIDE, Transform, shown
from tools.importer.model import DTYPES, Model

RATIO = 0.875
"""Crop over resize where a preset is fitted to another size: 224 of 256."""


def declared_size(declared: str) -> tuple[int, int]:
    """Height and width of the declared crop, pixels, for a model that takes any.

    Args:
        declared: name of a preset, or a TOML file.

    Raises:
        ContractMismatch: neither, or a crop that no picture has.
    """
    if declared in PRESETS:
        transform = PRESETS[declared].transform
        return transform.crop_height, transform.crop_width
    given, usual = _read(declared), Transform()
    size = given.get("crop_height", usual.crop_height), given.get("crop_width", usual.crop_width)
    if not all(1 <= side <= MAX_SIDE for side in size):
        raise ContractMismatch(
            f"{declared}: crop: expected 1 to {MAX_SIDE} pixels, got {shown(size)}"
        )
    return size


def _read(declared: str) -> dict[str, Any]:
    if not declared.endswith(".toml"):
        raise ContractMismatch(
            f"--transform: expected one of {', '.join(PRESETS)} or a FILE.toml, got {declared}"
        )
    return read_toml(Path(declared))


def fitted_transform(model: Model, declared: str) -> tuple[Transform, tuple[str, ...]]:
    """The declared transform with the model's own size, layout and dtype, and what was decided.

    Args:
        model: what the pixels are for.
        declared: name of a preset, or a TOML file. What the file says is not changed.

    Raises:
        ContractMismatch: the file's size, layout or dtype is not the model's.
    """
    own = {"layout": model.layout, "dtype": DTYPES[model.input.dtype]}
    if declared in PRESETS:
        transform = replace(PRESETS[declared].transform, **own)  # type: ignore[arg-type]
        return _resized(transform, model, declared)
    given = _read(declared)
    own |= _known_crop(model)
    for name, expected in own.items():
        if given.get(name, expected) != expected:
            raise ContractMismatch(
                f"{declared}: {name} is {shown(given[name])}, the model's input {model.input} "
                f"needs {shown(expected)}"
            )
    missing = [name for name in ("crop_height", "crop_width") if name not in own | given]
    if missing:
        raise ContractMismatch(
            f"{declared}: expected {missing[0]}, since the model takes any size: {model.input}"
        )
    return Transform.declared(own | given, declared), ()


def _known_crop(model: Model) -> dict[str, Any]:
    sides = zip(("crop_height", "crop_width"), model.height_width, strict=True)
    return {name: side for name, side in sides if side is not None}


def _resized(transform: Transform, model: Model, name: str) -> tuple[Transform, tuple[str, ...]]:
    """A preset for the model's own size."""
    usual = (transform.crop_height, transform.crop_width)
    height, width = (side or usual[n] for n, side in enumerate(model.height_width))
    if (height, width) == usual:
        return transform, ()
    shorter = min(height, width)
    if transform.resize == "shorter":
        shorter = round(max(height, width) / RATIO)
    note = f"{name} is for {usual[0]} x {usual[1]} pixels, the model for {height} x {width}: "
    note += f"resize_shorter {shorter}"
    if transform.resize == "shorter":
        note += f", the usual crop of {RATIO}"
    size = {"resize_shorter": shorter, "crop_height": height, "crop_width": width}
    fitted = Transform.declared(vars(transform) | size, f"{name} for {height} x {width} pixels")
    return fitted, (note,)

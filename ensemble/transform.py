"""The declared image transform: from encoded bytes to the classifier's pixels.

One frozen value says everything that has to be equal at training and at serving time. The DALI
graph (``preprocess.graph``) and the reference (``preprocess.reference``) are both driven by it;
neither has a constant of its own.
"""

from __future__ import annotations

import itertools
import json
import math
import struct
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ensemble.errors import ContractMismatch

RESIZES = ("shorter", "exact")
FILTERS = ("triangular", "cubic", "lanczos3", "nearest")
LAYOUTS = ("CHW", "HWC")
COLOURS = ("RGB", "BGR")
DTYPES = ("FP32", "FP16")
ROUNDINGS = ("nearest", "torchvision")
MAX_SIDE = 2341
"""Pixels, of the crop and of the shorter side after the resize: for a crop of 2048 at 0.875.

A picture is resized as a whole: at this side a square one takes 16 MB, and one that is 50 times as
long as wide, the most that ``preprocess`` takes, 820 MB. And pictures half as large again, which
the validator makes, are still below the 32 MB of an image.
"""
_MEANT = {
    "bilinear": "triangular",
    "linear": "triangular",
    "bicubic": "cubic",
    "lanczos": "lanczos3",
    "nchw": "CHW",
    "nhwc": "HWC",
    "float32": "FP32",
    "float16": "FP16",
    "stretch": "exact",
    "squash": "exact",
}
"""What others call our choices."""


@dataclass(frozen=True)
class Transform:
    """Shorter side to ``resize_shorter``, centre crop, ``(x - mean) / std``, layout, dtype.

    Attributes:
        resize: ``shorter`` keeps the picture's proportions; ``exact`` stretches it to those of the
            crop, as ``tf.image.resize`` to a fixed size does.
        resize_shorter: length of the shorter side after the resize, pixels.
        crop_height: height of the centre crop, pixels.
        crop_width: width of the centre crop, pixels.
        filter: resampling kernel; ``triangular`` is what Pillow and torchvision call bilinear.
        antialias: widen the kernel when shrinking. Off gives the aliased pixels of
            ``cv2.INTER_LINEAR``, tens of levels away on a detailed photograph.
        mean: subtracted per channel, in levels of 0..255, in the order of ``colour``.
        std: divided by per channel, in levels of 0..255.
        layout: ``CHW`` (ONNX exports of PyTorch) or ``HWC`` (TensorFlow).
        colour: channel order that the classifier was trained on.
        apply_exif: turn the picture as its EXIF orientation says before anything else.
        dtype: of PIXELS, ``FP32`` or ``FP16``, in Triton's words.
        rounding: of the other side and of the crop's offset: ``nearest``, halves up, as DALI does
            by itself; or ``torchvision``, which truncates the side and rounds halves to even. One
            pixel, and several levels on average where the picture is fine.
    """

    resize: str = "shorter"
    resize_shorter: int = 256
    crop_height: int = 224
    crop_width: int = 224
    filter: str = "triangular"
    antialias: bool = True
    mean: tuple[float, float, float] = (127.0, 127.0, 127.0)
    std: tuple[float, float, float] = (128.0, 128.0, 128.0)
    layout: str = "CHW"
    colour: str = "RGB"
    apply_exif: bool = True
    dtype: str = "FP32"
    rounding: str = "nearest"

    def __post_init__(self) -> None:
        """Reject a transform that no image could go through.

        Raises:
            ContractMismatch: naming the field, what it may be, and what it was.
        """
        for name, choices in _CHOICES.items():
            _require_choice(name, choices, getattr(self, name))
        self._check_sides()
        self._check_levels()

    def _check_sides(self) -> None:
        sides = (self.crop_height, self.crop_width)
        fits = min(sides) >= 1 and max(sides) <= MAX_SIDE
        _require(fits, "crop", f"1 to {MAX_SIDE} pixels", sides)
        smallest = max(sides) if self.resize == "shorter" else min(sides)
        _require(
            smallest <= self.resize_shorter <= MAX_SIDE,
            "resize_shorter",
            f">= the crop ({smallest} pixels) and <= {MAX_SIDE}",
            self.resize_shorter,
        )

    def _check_levels(self) -> None:
        """Mean and std that float32, and then ``dtype``, can do with every level of an image."""
        _require(len(self.mean) == 3, "mean", "three numbers", self.mean)
        _require(len(self.std) == 3 and min(self.std) > 0, "std", "three numbers above 0", self.std)
        least, most = _STDS
        fits = all(least <= std <= most for std in self.std)
        _require(fits, "std", f"{least:.3g} to {most:.3g}, as float32 has them", self.std)
        apart = all(map(self._keeps_apart, self.mean, self.std))
        expected = f"such that all levels of 0..255 stay finite and apart in {self.dtype}"
        _require(apart, "mean and std", expected, (self.mean, self.std))

    def _keeps_apart(self, mean: float, std: float) -> bool:
        """Whether each level of a channel gives another finite number."""
        try:
            mean, std = _rounded(mean, "f"), _rounded(std, "f")
            pixels = [
                _rounded(_rounded(_rounded(level - mean, "f") / std, "f"), _STRUCT[self.dtype])
                for level in range(256)
            ]
        except OverflowError:
            return False
        return all(low < high < math.inf for low, high in itertools.pairwise(pixels))

    @property
    def pixels_shape(self) -> tuple[int, int, int]:
        """Shape of one image's PIXELS, without the batch axis."""
        if self.layout == "CHW":
            return (3, self.crop_height, self.crop_width)
        return (self.crop_height, self.crop_width, 3)

    def resized(self, height: int, width: int) -> tuple[int, int]:
        """Height and width, in pixels, after the resize of an upright picture.

        Source: torchvision/transforms/functional.py, _compute_resized_output_size.
        """
        if self.resize == "exact":
            height, width = self.crop_height, self.crop_width
        shorter = min(height, width)
        if self.rounding == "torchvision":
            return self.resize_shorter * height // shorter, self.resize_shorter * width // shorter
        scale = self.resize_shorter / shorter
        return tuple(  # type: ignore[return-value]
            self.resize_shorter if side == shorter else int(side * scale + 0.5)
            for side in (height, width)
        )

    def scales(self, height: int, width: int) -> tuple[float, float]:
        """New pixels per old one, along the height and the width of an upright picture.

        With ``nearest`` the shorter side's, for both: sides are whole, DALI's scale is exact.
        """
        if self.resize == "shorter" and self.rounding == "nearest":
            return (self.resize_shorter / min(height, width),) * 2
        new_height, new_width = self.resized(height, width)
        return new_height / height, new_width / width

    def crop_offset(self, height: int, width: int) -> tuple[int, int]:
        """Rows above and columns left of the crop in a resized picture.

        Source: torchvision/transforms/functional.py, center_crop.
        """
        above, left = height - self.crop_height, width - self.crop_width
        if self.rounding == "torchvision":
            return round(above / 2), round(left / 2)
        return int(above / 2 + 0.5), int(left / 2 + 0.5)

    def to_json(self) -> str:
        """The text that ``from_json`` reads back, one field a line."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str = "transform") -> Transform:
        """A checked transform.

        Args:
            text: a JSON object; a field that is left out keeps its default.
            source: where the text came from, for the message.

        Raises:
            ContractMismatch: not a JSON object, an unknown field, or a bad value.
        """
        try:
            data: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ContractMismatch(f"{source}: not JSON: {error}") from error
        return cls.declared(checked_fields(data, source), source)

    @classmethod
    def from_file(cls, path: Path) -> Transform:
        """The transform in a JSON file; see ``from_json``.

        Raises:
            ContractMismatch: not UTF-8, or as ``from_json`` has it.
            OSError: the file can't be read.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ContractMismatch(f"{path}: not JSON: {error}") from error
        return cls.from_json(text, str(path))

    @classmethod
    def declared(cls, given: dict[str, Any], source: str) -> Transform:
        """The transform of checked fields; a bad value is told with the file that it is in.

        Args:
            given: what ``checked_fields`` returned.
            source: the file, for the message.

        Raises:
            ContractMismatch: as the class itself has it.
        """
        try:
            return cls(**given)
        except ContractMismatch as error:
            said = str(error).removeprefix("transform: ")
            raise ContractMismatch(f"{source}: {said}") from error


def checked_fields(data: Any, source: str) -> dict[str, Any]:
    """Arguments of ``Transform``, of the right types; their values are its own affair.

    Args:
        data: what was parsed from a file: names of fields to values.
        source: the file, for the message.

    Raises:
        ContractMismatch: not names and values, an unknown name, or a value of another type.
    """
    types = {field.name: str(field.type) for field in fields(Transform)}
    if not isinstance(data, dict) or set(data) - set(types):
        got = sorted(set(data) - set(types)) if isinstance(data, dict) else type(data).__name__
        raise ContractMismatch(f"{source}: expected the fields {sorted(types)}, got {got}")
    for name, value in data.items():
        described, fits = _TYPES[types[name]]
        if not fits(value):
            raise ContractMismatch(f"{source}: {name}: expected {described}, got {shown(value)}")
    return {name: tuple(map(float, v)) if isinstance(v, list) else v for name, v in data.items()}


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, (int, float)) and type(value) is not bool and math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def shown(value: object) -> str:
    """As people wrote it, unless it is very long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", lambda value: type(value) is int),
    "str": ("a word in quotes", lambda value: isinstance(value, str)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "tuple[float, float, float]": (
        "three numbers",
        lambda value: isinstance(value, list) and len(value) == 3 and all(map(_is_number, value)),
    ),
}


_CHOICES = {
    "resize": RESIZES,
    "filter": FILTERS,
    "layout": LAYOUTS,
    "colour": COLOURS,
    "dtype": DTYPES,
    "rounding": ROUNDINGS,
}
_STRUCT = {"FP32": "f", "FP16": "e"}
_STDS = 2.0**-126, 2.0**126
"""Such that std and 1 / std, which DALI multiplies by, are normal numbers of float32."""
_SHOWN = 200


def _rounded(value: float, kind: str) -> float:
    """As a float32 (``f``) or a float16 (``e``) has it; OverflowError where it can't.

    In plain Python, since every command and every probe imports this.
    """
    return float(struct.unpack(kind, struct.pack(kind, value))[0])


def _require(holds: bool, name: str, expected: str, got: object) -> None:
    if not holds:
        raise ContractMismatch(f"transform: {name} must be {expected}, got {shown(got)}")


def _require_choice(name: str, choices: tuple[str, ...], got: str) -> None:
    if got in choices:
        return
    usual = _MEANT.get(got.lower(), got)
    meant = next((choice for choice in choices if choice.lower() == usual.lower()), None)
    hint = f"; did you mean {meant!r}?" if meant else ""
    raise ContractMismatch(f"transform: {name} must be one of {choices}, got {shown(got)}{hint}")

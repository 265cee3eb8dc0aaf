"""The page on preprocessing: its code runs, and its table has every rule."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ensemble.transform import Transform
from tests.conftest import ROOT, SAMPLES
from tools.validate.findings import Rule
from tools.validate.parity.check import check_preprocessing
from tools.validate.parity.comparison import ParityRequest
from tools.validate.parity.references import REFERENCES
from tools.validate.rules import preprocessing as rules

PAGE = (ROOT / "docs" / "preprocessing.md").read_text(encoding="utf-8")
PIXEL_RULES = [r for r in vars(rules).values() if isinstance(r, Rule) and r.code < "P100"]


class Tensor:
    """As much of torch's as the page needs."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def numpy(self) -> np.ndarray[Any, Any]:
        return self.array


def torchvision() -> ModuleType:
    """A stand-in for the module, of the few transforms that the page uses."""

    def resize(shorter: int) -> Any:
        def call(picture: Image.Image) -> Image.Image:
            short = min(picture.size)
            width, height = (int(shorter * side / short) for side in picture.size)
            return picture.resize((width, height), Image.Resampling.BILINEAR)

        return call

    def crop(side: int) -> Any:
        def call(picture: Image.Image) -> Image.Image:
            left, top = (round((length - side) / 2.0) for length in picture.size)
            return picture.crop((left, top, left + side, top + side))

        return call

    def to_tensor() -> Any:
        return lambda picture: np.asarray(picture, np.float32).transpose(2, 0, 1) / 255

    def normalise(mean: Any, std: Any) -> Any:
        shape = (3, 1, 1)
        return lambda x: Tensor((x - np.reshape(mean, shape)) / np.reshape(std, shape))

    def compose(steps: list[Any]) -> Any:
        def call(value: Any) -> Any:
            for step in steps:
                value = step(value)
            return value

        return call

    module, transforms = ModuleType("torchvision"), ModuleType("torchvision.transforms")
    module.transforms = transforms  # type: ignore[attr-defined]
    calls = {"Resize": resize, "CenterCrop": crop, "ToTensor": to_tensor}
    vars(transforms).update(calls, Normalize=normalise, Compose=compose)
    return module


def test_the_code_dumps_what_the_check_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "coffee.png").write_bytes((SAMPLES / "coffee.png").read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torchvision", torchvision())
    exec(compile(code, "docs/preprocessing.md", "exec"), {})
    imagenet = Transform(mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375))
    images = [tmp_path / "images"]
    assert check_preprocessing(ParityRequest(imagenet, "training.npz", images)).findings == ()
    wrong = check_preprocessing(ParityRequest(Transform(), "training.npz", images))
    assert [finding.rule.name for finding in wrong.findings] == ["mean-std-values"]


@pytest.mark.parametrize("rule", PIXEL_RULES, ids=lambda rule: rule.code)
def test_every_rule_is_in_the_table(rule: Rule) -> None:
    assert f"| {rule.code} | {rule.name} | {rule.severity.value} | " in PAGE


def test_every_reference_is_in_the_table() -> None:
    assert all(f"`{name}`" in PAGE for name in REFERENCES)
    assert "`caffe`" not in PAGE

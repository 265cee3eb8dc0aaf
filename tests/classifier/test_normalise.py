"""Levels become what the reference makes of them, to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from classifier.normalise import normalise
from ensemble.transform import Transform

TRANSFORM = Transform(
    crop_height=16, crop_width=48, mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375)
)
LEVELS = np.arange(16 * 48 * 3, dtype=np.uint8).reshape(16, 48, 3)  # each 9 times


def expected(transform: Transform, dtype: type[np.floating]) -> np.ndarray:
    mean, std = np.array(transform.mean, np.float32), np.array(transform.std, np.float32)
    pixels = ((LEVELS - mean) / std).astype(dtype)
    return pixels.transpose(2, 0, 1) if transform.layout == "CHW" else pixels


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_every_level_of_every_channel(layout: str, dtype: type[np.floating]) -> None:
    transform = replace(TRANSFORM, layout=layout)
    levels = LEVELS.transpose(2, 0, 1) if layout == "CHW" else LEVELS
    batch = np.stack([levels, levels[::-1] if layout == "HWC" else levels[:, ::-1]])
    out = np.full(batch.shape, np.nan, dtype)
    normalise(batch, transform, out=out)
    np.testing.assert_array_equal(out[0], expected(transform, dtype))
    turned = out[1][::-1] if layout == "HWC" else out[1][:, ::-1]
    np.testing.assert_array_equal(turned, expected(transform, dtype))


def test_another_mean_is_noticed() -> None:
    transform = replace(TRANSFORM, layout="HWC")
    out = np.empty((1, *LEVELS.shape), np.float32)
    normalise(LEVELS[None], replace(transform, mean=transform.mean[::-1]), out=out)
    assert not np.allclose(out[0], expected(transform, np.float32))

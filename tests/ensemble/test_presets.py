"""Presets give the pixels of the frameworks that they are named after, by other hands."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from ensemble.presets import PRESETS
from ensemble.transform import Transform
from preprocess.graph import build_pipeline
from tests.conftest import SAMPLES

Array = np.ndarray[Any, Any]
PHOTOGRAPHS = ("chelsea.png", "coffee.png", "rocket.jpg")


def served(picture: Array, transform: Transform) -> Array:
    """PIXELS of a picture, (height, width, 3) float32, in levels of 0..255 again."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    transform = replace(transform, layout="HWC")
    pipeline = build_pipeline(transform, batch_size=1, num_threads=1, device_id=None)
    pipeline.feed_input("IMAGE", [np.frombuffer(buffer.getvalue(), np.uint8)])
    pixels = np.asarray(pipeline.run()[0].as_tensor())[0]
    return np.asarray(pixels * np.float32(transform.std) + np.float32(transform.mean))


def tensorflow(picture: Array) -> Array:
    """tf.image.resize(picture, (224, 224)): OpenCV's linear has the same centres and no antialias.

    Source: tensorflow/python/ops/image_ops_impl.py, resize_images_v2: half_pixel_centers=True.
    """
    return np.asarray(cv2.resize(picture.astype(np.float32), (224, 224)))


def torchvision(picture: Array) -> Array:
    """Resize(256) and CenterCrop(224) of a PIL image, as ImageClassification has them.

    Source: torchvision/transforms/functional.py: _compute_resized_output_size truncates the longer
    side, center_crop rounds the offset.
    """
    image = Image.fromarray(picture)
    scale = 256 / min(image.size)
    width, height = (256 if side == min(image.size) else int(scale * side) for side in image.size)
    resized = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = round((width - 224) / 2), round((height - 224) / 2)
    return np.asarray(resized.crop((left, top, left + 224, top + 224)), np.float32)


ORACLES = {"tf-imagenet": tensorflow, "torchvision-imagenet": torchvision}


@pytest.mark.parametrize("photograph", PHOTOGRAPHS)
@pytest.mark.parametrize("name", ORACLES)
def test_a_preset_gives_the_frameworks_own_pixels(name: str, photograph: str) -> None:
    picture = np.asarray(Image.open(SAMPLES / photograph).convert("RGB"))
    off = np.abs(served(picture, PRESETS[name].transform) - ORACLES[name](picture)).mean()
    assert off < 1.0, f"{off:.2f} levels"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tf-imagenet", {"antialias": True}),
        ("tf-imagenet", {"resize": "shorter"}),
        ("tf-imagenet", {"resize_shorter": 256}),
        ("torchvision-imagenet", {"antialias": False}),
        ("torchvision-imagenet", {"resize_shorter": 232}),
        ("torchvision-imagenet", {"resize": "exact"}),
        ("torchvision-imagenet", {"rounding": "nearest"}),
    ],
)
def test_another_rule_is_noticed(name: str, change: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (900, 1354, 3), np.uint8)
    off = served(picture, replace(PRESETS[name].transform, **change)) - ORACLES[name](picture)
    assert np.abs(off).mean() > 5.0

"""Decoders and reference are driven by one declared transform; they must give the same pixels."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from classifier.normalise import normalise
from ensemble.errors import ContractMismatch
from ensemble.presets import PRESETS
from ensemble.transform import MAX_SIDE, Transform
from preprocess.decode import Preprocessor
from preprocess.graph import build_pipeline
from preprocess.guard import Limits
from preprocess.reference import reference_pixels
from tests.conftest import SAMPLES

PHOTOGRAPHS = sorted(path for path in SAMPLES.iterdir() if path.suffix in (".png", ".jpg"))
# Seen: at most 0.03 (DALI), 0.001 (OpenCV). All round to whole levels after the resize, and add in
# different orders, so single pixels differ by 1.
MEAN_LEVELS = 0.1

TRANSFORMS = {
    "default": Transform(),
    "cubic": Transform(filter="cubic"),
    "lanczos3": Transform(filter="lanczos3"),
    "nearest": Transform(filter="nearest"),
    "aliased": Transform(antialias=False),
    "tensorflow": Transform(layout="HWC", colour="BGR", resize_shorter=224),
    "stretched": Transform(resize="exact", crop_height=48, crop_width=192, resize_shorter=60),
    "stretched, to even": Transform(
        resize="exact", crop_height=47, crop_width=190, resize_shorter=60, rounding="torchvision"
    ),
    "half": Transform(dtype="FP16", layout="HWC"),
    **{name: preset.transform for name, preset in PRESETS.items()},
}
SIZES = [(1, 1), (1, 37), (255, 257), (256, 256), (257, 1001), (900, 1200), (64, 2000), (33, 70)]


def dali_pixels(encoded: bytes, transform: Transform) -> np.ndarray:
    pipeline = build_pipeline(transform, batch_size=1, num_threads=1, device_id=None)
    pipeline.feed_input("IMAGE", [np.frombuffer(encoded, np.uint8)])
    return np.copy(np.asarray(pipeline.run()[0].as_tensor())[0])


def opencv_pixels(encoded: bytes, transform: Transform) -> np.ndarray:
    """As the CPU's stages make them: levels, which the classifier's normalises."""
    stage = Preprocessor(transform, Limits(max_aspect=1e4), batch_size=1, as_levels=True)
    (result,) = stage([np.frombuffer(encoded, np.uint8)[None]])
    pixels = np.empty(
        transform.pixels_shape, {"FP32": np.float32, "FP16": np.float16}[transform.dtype]
    )
    normalise(result["PIXELS"], transform, out=pixels[None])
    return pixels


DECODERS = {"dali": dali_pixels, "opencv": opencv_pixels}


def mean_levels(got: np.ndarray, expected: np.ndarray, transform: Transform) -> float:
    std = np.float32(transform.std)
    scale = std if transform.layout == "HWC" else std[:, None, None]
    return float(np.abs((got - expected) * scale).mean())


def noise_png(height: int, width: int) -> bytes:
    levels = np.random.default_rng(height * width).integers(0, 256, (height, width, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(levels).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("photograph", PHOTOGRAPHS, ids=lambda path: path.name)
@pytest.mark.parametrize("decoder", DECODERS)
def test_decoder_and_reference_agree_on_photographs(
    decoder: str, name: str, photograph: Path
) -> None:
    transform, encoded = TRANSFORMS[name], photograph.read_bytes()
    got, expected = DECODERS[decoder](encoded, transform), reference_pixels(encoded, transform)
    assert got.shape == expected.shape == transform.pixels_shape
    assert got.dtype == expected.dtype == {"FP32": np.float32, "FP16": np.float16}[transform.dtype]
    assert mean_levels(got, expected, transform) < MEAN_LEVELS


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    "name", ["tandem", "tf-imagenet", "torchvision-imagenet", "stretched, to even", "lanczos3"]
)
@pytest.mark.parametrize("decoder", DECODERS)
def test_they_agree_on_awkward_sizes_of_noise(
    decoder: str, name: str, size: tuple[int, int]
) -> None:
    encoded, transform = noise_png(*size), TRANSFORMS[name]
    got, expected = DECODERS[decoder](encoded, transform), reference_pixels(encoded, transform)
    assert mean_levels(got, expected, transform) < MEAN_LEVELS


@pytest.mark.parametrize(
    "wrong",
    [
        {"colour": "BGR"},
        {"antialias": False},
        {"mean": (124.0, 117.0, 104.0)},
        {"std": (64.0, 64.0, 64.0)},
        {"resize_shorter": 232},
        {"filter": "nearest"},
        {"resize": "exact"},
    ],
    ids=lambda change: next(iter(change)),
)
@pytest.mark.parametrize("decoder", DECODERS)
def test_a_transform_that_differs_in_one_field_is_noticed(
    decoder: str, wrong: dict[str, object]
) -> None:
    encoded, transform = noise_png(900, 1200), Transform()
    got = DECODERS[decoder](encoded, replace(transform, **wrong))
    assert mean_levels(got, reference_pixels(encoded, transform), transform) > 1.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"crop_height": 300}, "resize_shorter"),
        ({"filter": "bilinear"}, "filter"),
        ({"resize": "longer"}, "resize"),
        ({"resize": "exact", "resize_shorter": 223}, "resize_shorter"),
        ({"dtype": "FP64"}, "dtype"),
        ({"rounding": "floor"}, "rounding"),
        ({"layout": "NCHW"}, "layout"),
        ({"colour": "RGBA"}, "colour"),
        ({"std": (1.0, 0.0, 1.0)}, "std"),
        ({"crop_width": 0}, "crop"),
        ({"resize": "exact", "crop_width": MAX_SIDE + 1}, "crop"),
        ({"resize_shorter": MAX_SIDE + 1}, "resize_shorter"),
        ({"std": (1e-40, 1.0, 1.0)}, "std"),
        ({"std": (1.0, 1e38, 1.0)}, "std"),
        ({"mean": (1e308, 2.0, 3.0)}, "mean and std"),
        ({"mean": (1e308, 2.0, 3.0), "std": (1e-300, 1.0, 1.0)}, "std"),
        ({"mean": (1e10, 2.0, 3.0)}, "mean and std"),
        ({"mean": (float("nan"), 2.0, 3.0)}, "mean and std"),
        ({"std": (1.0, 1.0, 1e-3), "dtype": "FP16"}, "mean and std"),
        ({"std": (1.0, 1.0, 1e9), "dtype": "FP16"}, "mean and std"),
    ],
)
def test_an_impossible_transform_is_refused_by_field(change: dict[str, object], said: str) -> None:
    with pytest.raises(ContractMismatch, match=said):
        replace(Transform(), **change)


@pytest.mark.parametrize(
    "change",
    [
        {"std": (1e-3, 1e9, 1e30)},
        {"mean": (-500.0, 0.0, 1e4)},
        {"mean": (0.0, 123.675, 127.5), "std": (255.0, 58.395, 1.0), "dtype": "FP16"},
        {"resize_shorter": MAX_SIDE},
    ],
)
def test_an_unusual_transform_that_works_is_not_refused(change: dict[str, object]) -> None:
    replace(Transform(), **change)


def test_a_transform_survives_its_file() -> None:
    transform = TRANSFORMS["torchvision-imagenet"]
    assert Transform.from_json(transform.to_json()) == transform


@pytest.mark.parametrize(
    "text", ["", "[]", '{"crop": 224}', '{"mean": 1', '{"mean": 1}', '{"crop_width": "1"}']
)
def test_a_broken_transform_file_is_named(text: str) -> None:
    with pytest.raises(ContractMismatch, match=r"t\.json"):
        Transform.from_json(text, "t.json")


def test_a_stretch_has_the_proportions_of_the_crop() -> None:
    transform = TRANSFORMS["stretched"]
    assert transform.resized(10, 5000) == transform.resized(5000, 10) == (60, 240)

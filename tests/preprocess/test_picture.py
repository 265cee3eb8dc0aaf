"""OpenCV's pictures: the right way up, as Pillow's, and large JPEGs smaller than they are."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps

from ensemble.errors import InvalidInput
from ensemble.transform import Transform
from preprocess import picture
from preprocess.decode import Preprocessor
from preprocess.guard import Limits, inspect
from preprocess.picture import decode
from preprocess.reference import reference_pixels
from tests.conftest import SAMPLES
from tests.fakes import images as fake
from tests.fakes.good_images import GOOD

TRANSFORM = Transform()
# Seen: 1.0 for CMYK, which OpenCV rounds otherwise, 0.5 for 16 bits of grey, and 0 for all others.
MEAN_LEVELS = 1.0


def decoded(data: bytes, transform: Transform = TRANSFORM) -> picture.Picture:
    array = np.frombuffer(data, np.uint8)
    header = inspect(array, Limits())
    return decode(array[: header.end], header, transform)


@pytest.mark.parametrize("apply_exif", [True, False])
@pytest.mark.parametrize("name", GOOD)
def test_what_the_guard_accepts_is_decoded_as_pillow_does(name: str, apply_exif: bool) -> None:
    data = GOOD[name][0]()
    with Image.open(io.BytesIO(data)) as file:
        image = ImageOps.exif_transpose(file) if apply_exif else file
        levels = np.asarray(image, np.int64)
        # Pillow would clip 16 bits, where all decoders of ours scale.
        grey = np.repeat(levels[..., None] / 257, 3, axis=2) if image.mode == "I;16" else None
        expected = np.asarray(image.convert("RGB"), np.int64) if grey is None else grey
    got = decoded(data, replace(TRANSFORM, apply_exif=apply_exif))
    assert np.abs(got.levels - expected).mean() <= MEAN_LEVELS
    assert (got.height.decoded, got.width.decoded) == got.levels.shape[:2]


def test_a_png_with_harmless_faults_is_decoded_in_silence(
    capfd: pytest.CaptureFixture[str],
) -> None:
    data = (SAMPLES / "chelsea.png").read_bytes()
    cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert "libpng warning" in capfd.readouterr().err
    decoded(data)
    assert capfd.readouterr().err == ""


# Large JPEGs


def smooth(height: int, width: int) -> Image.Image:
    """Waves of 30 pixels and more, which the resize keeps and every filter leaves alike."""
    return Image.fromarray(cv2.GaussianBlur(fake.pixels(height, width), (0, 0), 4))


@pytest.mark.parametrize(
    ("size", "step"),
    [
        ((1023, 2000), 1),
        ((1024, 1500), 2),
        ((1536, 2048), 2),
        ((2047, 3000), 2),
        ((2048, 2731), 4),
        ((4096, 4100), 8),
    ],
)
def test_twice_the_pixels_that_are_needed_are_left(size: tuple[int, int], step: int) -> None:
    got = decoded(fake.saved(Image.new("RGB", size[::-1]), "JPEG"))
    assert (got.height.pixels, got.width.pixels) == size
    assert got.levels.shape[:2] == (-(-size[0] // step), -(-size[1] // step))
    assert min(got.levels.shape[:2]) >= 2 * 256 or step == 1


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "BMP"])
def test_only_a_jpeg_is_made_smaller(kind: str) -> None:
    got = decoded(fake.saved(Image.new("RGB", (1200, 1100)), kind))
    assert got.levels.shape[:2] == (1100, 1200)


@pytest.mark.parametrize(
    "change",
    [
        {"antialias": False},
        {"filter": "nearest"},
        {"resize_shorter": 300},
        {"resize": "exact", "crop_width": 400},
    ],
    ids=lambda change: next(iter(change)),
)
def test_not_where_single_pixels_count_or_more_are_needed(change: dict[str, object]) -> None:
    data = fake.saved(smooth(1100, 1200), "JPEG")
    assert decoded(data).height.step == 2
    assert decoded(data, replace(TRANSFORM, **change)).height.step == 1  # type: ignore[arg-type]


def off(data: bytes, whole: bytes = b"") -> np.ndarray:
    """Levels by which the crop differs from that of the picture, ``whole``, decoded as it is."""
    stage = Preprocessor(TRANSFORM, Limits(), batch_size=1, as_levels=True)
    (result,) = stage([np.frombuffer(data, np.uint8)[None]])
    assert isinstance(result, dict), result
    return np.abs(result["PIXELS"][0] - (reference_pixels(whole or data, TRANSFORM) * 128 + 127))


def oriented(image: Image.Image, value: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = value
    return fake.saved(image, "JPEG", exif=exif, quality=95)


@pytest.mark.parametrize(("size", "values"), [((1027, 1543), range(1, 9)), ((2051, 2050), (2, 7))])
def test_a_turned_picture_lies_where_it_belongs(
    size: tuple[int, int], values: Sequence[int]
) -> None:
    """Sides that are no multiples are filled up at their end, which turning makes their start."""
    image = smooth(*size)
    for value in values:
        data = oriented(image, value)
        assert decoded(data).height.step > 1
        assert off(data).mean() < 0.9, value  # seen: 0.4 and 0.7, for all alike


def test_filled_up_at_the_wrong_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "_side", lambda pixels, step, turned: picture.Side(pixels, step))
    assert off(oriented(smooth(2051, 2050), 3)).mean() > 0.9


@pytest.mark.parametrize(
    "exif",
    [b"Exif\0\0garbage", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0", b"other"],
    ids=["garbage", "beyond the end", "empty", "not EXIF"],
)
def test_an_orientation_that_cannot_be_read_turns_nothing(exif: bytes) -> None:
    data = fake.behind_soi(fake.saved(smooth(1100, 1200), "JPEG"), fake.segment(0xE1, exif))
    got = decoded(data)
    assert (got.height.pixels, got.width.pixels) == (1100, 1200)
    assert off(data).mean() < 0.9


def photograph(name: str, height: int, width: int, noise: float) -> bytes:
    """A sample enlarged, with a sensor's noise, since it has no detail of its own."""
    with Image.open(SAMPLES / name) as file:
        levels = np.asarray(file.convert("RGB").resize((width, height), Image.Resampling.BICUBIC))
    random = np.random.default_rng(0)
    levels = levels + random.normal(0, noise, (height, width, 1))
    image = Image.fromarray(np.clip(np.rint(levels), 0, 255).astype(np.uint8))
    return fake.saved(image, "JPEG", quality=90)


@pytest.mark.parametrize("size", [(1024, 1536), (2048, 2560)])
@pytest.mark.parametrize("name", ["chelsea.png", "rocket.jpg"])
def test_a_photograph_keeps_its_pixels(name: str, size: tuple[int, int]) -> None:
    """At the size that is decoded smallest; seen 0.3 in the mean."""
    assert off(photograph(name, *size, noise=5)).mean() < 0.5


def test_noise_of_single_pixels_is_the_worst_and_stays_a_few_levels() -> None:
    levels = np.random.default_rng(0).integers(0, 256, (1024, 1100, 3), np.uint8)
    difference = off(fake.saved(Image.fromarray(levels), "JPEG", quality=90))
    assert difference.mean() < 3.0  # seen: 2.3; without antialias it would be 60
    assert difference.max() < 25


# Damage


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("progressive", [False, True])
def test_a_large_jpeg_that_is_cut_is_never_half_a_picture(share: float, progressive: bool) -> None:
    data = fake.saved(smooth(1100, 1200), "JPEG", progressive=progressive)
    with pytest.raises(InvalidInput):
        decoded(fake.truncated(data, share) + bytes(500))


def test_a_large_jpeg_without_its_end_marker_is_decoded_as_it_is() -> None:
    """All of it, since pixels from beyond the end could hide in smaller ones."""
    data = fake.saved(smooth(1100, 1200), "JPEG")
    got = decoded(data[:-2])
    assert got.levels.shape[:2] == (1100, 1200)
    assert off(data[:-2], whole=data).mean() < 0.01

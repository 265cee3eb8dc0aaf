"""Served pixels against trained pixels: each fault is made, and must be named, and no other."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from ensemble.errors import ContractMismatch
from ensemble.transform import Transform
from tests.conftest import SAMPLES
from tests.fakes.images import saved
from tools.client.sources import find
from tools.validate.findings import Severity, errors
from tools.validate.parity import pictures, references
from tools.validate.parity.check import check_preprocessing
from tools.validate.parity.comparison import Compared, ParityRequest, ParityResult, compare, served
from tools.validate.parity.pictures import Picture, as_decoded, generated, photographs, waves
from tools.validate.parity.recipe import Recipe

Array = np.ndarray[Any, Any]

IMAGENET = ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
SERVED = Transform(mean=IMAGENET[0], std=IMAGENET[1])

GENERATED = generated(SERVED, np.random.default_rng(0))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pictures that are shrunk, to whole sides and with a crop that has a middle."""
    folder = tmp_path_factory.mktemp("photographs")
    for name, sides in (("coffee.png", (600, 400)), ("rocket.jpg", (480, 384))):
        with Image.open(SAMPLES / name) as picture:
            picture.convert("RGB").crop((0, 0, *sides)).save(folder / f"{name[:-4]}.png")
    made = waves(384, 480, np.random.default_rng(7))
    Image.fromarray(made).save(folder / "waves.png")
    return folder


def training(photos: Path, **changes: Any) -> dict[str, Array]:
    """What a training that differs in these fields of the transform feeds, by file name."""
    transform = replace(SERVED, **changes)
    pictures = photographs(find([str(photos)]))
    fed = served(pictures, transform)
    return {Path(p.name).name: array for p, array in zip(pictures, fed, strict=True)}  # type: ignore[misc]


def against(arrays: dict[str, Array], photos: Path, tmp_path: Path, **changes: Any) -> ParityResult:
    """The check of a server against dumped arrays."""
    path = tmp_path / "training.npz"
    np.savez(path, **arrays)
    return check_preprocessing(ParityRequest(replace(SERVED, **changes), str(path), [photos]))


def names(result: ParityResult) -> set[str]:
    return {finding.rule.name for finding in result.findings}


# The healthy case


def test_what_training_fed_is_what_is_served(photos: Path, tmp_path: Path) -> None:
    result = against(training(photos), photos, tmp_path)
    assert result.findings == ()
    assert [one.agrees for one in result.pictures] == [True] * 3
    assert max(one.largest for one in result.pictures) < 1e-3


@pytest.mark.parametrize("kernel", ["triangular", "cubic", "lanczos3", "nearest"])
@pytest.mark.parametrize("antialias", [True, False])
def test_the_recipe_is_the_server(kernel: str, antialias: bool) -> None:
    """The diagnosis turns switches of a model of the server: the model has to be right."""
    transform = replace(SERVED, filter=kernel, antialias=antialias, crop_width=200)
    pictures = [*photographs(find([str(SAMPLES)])), *GENERATED[:10]]
    recipe = Recipe.of(transform)
    for picture, pixels in zip(pictures, served(pictures, transform), strict=True):
        assert isinstance(pixels, np.ndarray), picture.name
        # Seen: 0.05 for Lanczos. Sums are rounded to whole levels, in another order of adding.
        assert recipe.off(picture.encoded, pixels) < 0.1, picture.name


@pytest.mark.parametrize("reference", references.REFERENCES)
def test_each_framework_agrees_with_the_transform_that_says_what_it_does(
    reference: str, photos: Path
) -> None:
    """On generated sizes and kinds too; only the rounding of sizes and crops is not declared."""
    transform = replace(SERVED, antialias=reference not in ("tf", "keras", "opencv"))
    transform = replace(transform, colour="BGR" if reference.startswith("opencv") else "RGB")
    result = check_preprocessing(ParityRequest(transform, reference, [photos]))
    assert not errors(result.findings) or reference == "opencv-area", result.findings
    harmless = {"size-rounding", "crop-offset", "crop-before-resize", "16-bit-loader"}
    # INTER_AREA is a kernel of its own, which no transform can declare.
    assert names(result) <= harmless | ({"filter"} if reference == "opencv-area" else set())
    assert len(result.pictures) == 28


@pytest.mark.parametrize("reference", ["declared", "torchvision", "pillow"])
def test_a_server_without_dali_agrees_too(reference: str, photos: Path) -> None:
    result = check_preprocessing(ParityRequest(SERVED, reference, [photos], as_levels=True))
    assert not errors(result.findings), result.findings
    assert len(result.pictures) == 28


def scan(height: int, width: int) -> Picture:
    """A page of coloured text: what a decoder that shrinks keeps least of."""
    page, rng = np.full((height, width, 3), 255, np.uint8), np.random.default_rng(0)
    for y in range(20, height, 26):
        ink = tuple(int(level) for level in rng.integers(0, 120, 3))
        cv2.putText(page, "The quick brown fox " * 9, (8, y), cv2.FONT_HERSHEY_SIMPLEX, 0.7, ink)
    return Picture("page.jpg", saved(Image.fromarray(page), "JPEG", quality=90))


def test_a_page_that_is_decoded_smaller_has_a_tolerance_of_its_own() -> None:
    (page,) = as_decoded([scan(1100, 1500)], SERVED)
    (small,) = as_decoded([scan(500, 700)], SERVED)
    assert (page.tolerance_levels, small.tolerance_levels) == (2.0, 1.0)
    (by_dali,), (by_opencv,) = (served([page], SERVED, levels) for levels in (False, True))
    assert isinstance(by_opencv, np.ndarray)
    assert isinstance(by_dali, np.ndarray)
    compared = compare(page, by_opencv, by_dali, SERVED)
    assert compared.agrees
    assert compared.mean > 1.0


# Each fault by its name: the training did this, the server is SERVED


def transposed(array: Array) -> Array:
    return array.transpose(1, 2, 0)


def reshaped(array: Array) -> Array:
    return np.ascontiguousarray(array.transpose(1, 2, 0)).reshape(array.shape)


def in_other_layout(change: Callable[[Array], Array]) -> Callable[[Path], dict[str, Array]]:
    return lambda photos: {name: change(array) for name, array in training(photos).items()}


def differs_in(**changes: Any) -> Callable[[Path], dict[str, Array]]:
    return lambda photos: training(photos, **changes)


def by_hand(change: Callable[[Image.Image], Image.Image]) -> Callable[[Path], dict[str, Array]]:
    """Training that prepares the picture itself; 224 x 224 come out of ``change``."""

    def fed(photos: Path) -> dict[str, Array]:
        arrays = {}
        for path in photos.iterdir():
            with Image.open(path) as picture:
                levels = np.asarray(change(picture.convert("RGB")), np.float32)
            normed = (levels - np.float32(IMAGENET[0])) / np.float32(IMAGENET[1])
            arrays[path.name] = normed.transpose(2, 0, 1)
        return arrays

    return fed


def cropped_at(left: int, top: int) -> Callable[[Image.Image], Image.Image]:
    """The crop of the server, moved by pixels from the centre of its resized picture."""

    def change(picture: Image.Image) -> Image.Image:
        width, height = picture.size
        scale = 256 / min(width, height)
        small = picture.resize(
            (round(width * scale), round(height * scale)), Image.Resampling.BILINEAR
        )
        x, y = (small.width - 224) // 2 + left, (small.height - 224) // 2 + top
        return small.crop((x, y, x + 224, y + 224))

    return change


def top_left(picture: Image.Image) -> Image.Image:
    width, height = picture.size
    scale = 256 / min(width, height)
    small = picture.resize((round(width * scale), round(height * scale)), Image.Resampling.BILINEAR)
    return small.crop((0, 0, 224, 224))


def stretched(picture: Image.Image) -> Image.Image:
    return picture.resize((224, 224), Image.Resampling.BILINEAR)


FAULTS: dict[str, tuple[Callable[[Path], dict[str, Array]], set[str]]] = {
    "BGR": (differs_in(colour="BGR"), {"colour-order"}),
    "BGR, mean and std too": (
        differs_in(colour="BGR", mean=IMAGENET[0][::-1], std=IMAGENET[1][::-1]),
        {"colour-order"},
    ),
    "HWC": (in_other_layout(transposed), {"layout"}),
    "reshaped": (in_other_layout(reshaped), {"reshaped-not-transposed"}),
    "levels where 0..1 were meant": (
        differs_in(
            mean=tuple(m / 255 for m in IMAGENET[0]), std=tuple(s / 255 for s in IMAGENET[1])
        ),
        {"scale"},
    ),
    "divided by 255 twice": (
        differs_in(
            mean=tuple(m * 255 for m in IMAGENET[0]), std=tuple(s * 255 for s in IMAGENET[1])
        ),
        {"scale"},
    ),
    "255 times": (in_other_layout(lambda array: array * 255), {"scale"}),
    "levels as they are": (differs_in(mean=(0.0,) * 3, std=(1.0,) * 3), {"mean-std-not-applied"}),
    "0..1 and no more": (differs_in(mean=(0.0,) * 3, std=(255.0,) * 3), {"mean-std-not-applied"}),
    "mean and std turned round": (
        differs_in(mean=IMAGENET[0][::-1], std=IMAGENET[1][::-1]),
        {"mean-std-order"},
    ),
    "another known mean": (differs_in(mean=(127.5,) * 3, std=(127.5,) * 3), {"mean-std-values"}),
    "another unknown mean": (
        differs_in(mean=(110.0, 101.0, 95.0), std=(70.0, 68.0, 66.0)),
        {"mean-std-values"},
    ),
    "no antialias": (differs_in(antialias=False), {"antialias"}),
    "nearest": (differs_in(filter="nearest"), {"filter"}),
    "Lanczos": (differs_in(filter="lanczos3"), {"filter"}),
    "another size": (differs_in(resize_shorter=232), {"resize-size"}),
    "one pixel to the right": (by_hand(cropped_at(1, 0)), {"crop-offset"}),
    "one pixel up and left": (by_hand(cropped_at(-1, -1)), {"crop-offset"}),
    "top left corner": (by_hand(top_left), {"crop-place"}),
    "stretched": (by_hand(stretched), {"stretched"}),
    "BGR without antialias": (
        differs_in(colour="BGR", antialias=False),
        {"colour-order", "antialias"},
    ),
    "another unknown mean without antialias": (
        differs_in(mean=(110.0, 101.0, 95.0), std=(70.0, 68.0, 66.0), antialias=False),
        {"mean-std-values", "antialias"},
    ),
    "stretched, in HWC": (
        lambda photos: {n: transposed(a) for n, a in by_hand(stretched)(photos).items()},
        {"stretched", "layout"},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named_and_no_other(fault: str, photos: Path, tmp_path: Path) -> None:
    fed, expected = FAULTS[fault]
    result = against(fed(photos), photos, tmp_path)
    assert names(result) == expected, result.findings


def test_the_evidence_is_the_difference_before_and_after(photos: Path, tmp_path: Path) -> None:
    (finding,) = against(training(photos, colour="BGR"), photos, tmp_path).findings
    assert "the reference feeds BGR, the server RGB" in finding.message
    assert "by 0.00 if the server did the same" in finding.message
    assert finding.rule.severity is Severity.ERROR


def test_fitted_values_are_told(photos: Path, tmp_path: Path) -> None:
    fed = training(photos, mean=(110.0, 101.0, 95.0), std=(70.0, 68.0, 66.0))
    (finding,) = against(fed, photos, tmp_path).findings
    assert "mean [110.0, 101.0, 95.0] and std [70.0, 68.0, 66.0]" in finding.message


def test_pure_red_shows_the_colour_order(tmp_path: Path) -> None:
    red = np.zeros((256, 256, 3), np.uint8)
    red[..., 0] = 255
    Image.fromarray(red).save(tmp_path / "red.png")
    fed = training(tmp_path, colour="BGR")
    assert names(against(fed, tmp_path / "red.png", tmp_path)) == {"colour-order"}


@pytest.mark.parametrize("value", range(2, 9))
def test_each_orientation_that_is_not_applied_is_named(value: int, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = value
    picture = Image.fromarray(waves(300, 300, np.random.default_rng(value)))
    (tmp_path / "turned.jpg").write_bytes(saved(picture, "JPEG", exif=exif))
    fed = training(tmp_path, apply_exif=False)
    assert names(against(fed, tmp_path / "turned.jpg", tmp_path)) == {"exif"}


def test_16_bits_that_training_clips_are_named(tmp_path: Path) -> None:
    path = tmp_path / "deep.png"
    path.write_bytes(
        saved(
            Image.fromarray(
                waves(300, 300, np.random.default_rng(0))[..., 0].astype(np.uint16) * 257
            ),
            "PNG",
        )
    )
    result = check_preprocessing(ParityRequest(SERVED, "torchvision", [path]))
    found = [f.message for f in result.findings if f.rule.name == "16-bit-scaling"]
    assert len(found) == 1
    assert "deep.png differs by" in found[0]


def test_noise_that_nothing_explains_is_an_error_without_a_cause(
    photos: Path, tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    fed = {
        name: random.normal(size=a.shape).astype(np.float32) for name, a in training(photos).items()
    }
    assert names(against(fed, photos, tmp_path)) == {"pixels-differ"}


def test_not_a_number_differs(photos: Path, tmp_path: Path) -> None:
    fed = {name: array * np.float32("nan") for name, array in training(photos).items()}
    result = against(fed, photos, tmp_path)
    assert names(result) == {"pixels-differ"}
    assert not any(one.agrees for one in result.pictures)


def test_another_crop_is_a_matter_of_shape(photos: Path, tmp_path: Path) -> None:
    result = against(training(photos, crop_width=192), photos, tmp_path)
    assert names(result) == {"pixels-shape"}
    assert (
        "the reference is (3, 224, 192), the server's (3, 224, 224)" in result.findings[0].message
    )


def test_a_framework_with_another_declared_transform_is_compared_with_that(photos: Path) -> None:
    request = ParityRequest(SERVED, "torchvision", [photos], training=Transform())
    assert "mean-std-values" in names(check_preprocessing(request))


def test_torchvisions_truncated_sides_are_a_warning() -> None:
    result = check_preprocessing(ParityRequest(SERVED, "torchvision", [SAMPLES / "chelsea.png"]))
    (finding,) = [f for f in result.findings if f.rule.severity is not Severity.NOTE]
    assert (finding.rule.name, finding.rule.severity) == ("size-rounding", Severity.WARNING)
    assert "chelsea.png differs by 3." in finding.message


# What can't be compared


def test_what_the_server_refuses_is_said(photos: Path, tmp_path: Path) -> None:
    gif = tmp_path / "a.gif"
    gif.write_bytes(saved(Image.new("RGB", (300, 300)), "GIF"))
    path = tmp_path / "some.npz"
    np.savez(path, **{"a.gif": np.zeros(1), "coffee.png": training(photos)["coffee.png"]})
    result = check_preprocessing(ParityRequest(SERVED, str(path), [photos, gif]))
    messages = " ".join(finding.message for finding in result.findings)
    assert names(result) == {"not-compared"}
    assert "the server refuses it: GIF is not accepted" in messages
    assert len(result.pictures) == 1


def test_what_the_reference_lacks_is_said(photos: Path, tmp_path: Path) -> None:
    fed = training(photos)
    del fed["rocket.png"]
    result = against(fed, photos, tmp_path)
    assert names(result) == {"not-compared"}
    assert "compared 2 of 3 images: the reference has no array of 1" in result.findings[0].message
    assert len(result.pictures) == 2


def test_arrays_of_other_images_compare_nothing_and_say_so(photos: Path, tmp_path: Path) -> None:
    result = against({"other.png": np.zeros((3, 224, 224))}, photos, tmp_path)
    assert names(result) == {"not-compared"}
    assert result.pictures == ()


def test_of_many_images_some_from_all_over_are_compared(tmp_path: Path) -> None:
    image = saved(Image.new("RGB", (8, 8)), "PNG")
    for n in range(130):
        (tmp_path / f"{n:03}.png").write_bytes(image)
    result = check_preprocessing(ParityRequest(SERVED, "pillow", [tmp_path]))
    of_files = [Path(one.picture.name).stem for one in result.pictures if not one.picture.generated]
    assert len(of_files) == 64
    assert of_files[-1] > "125"
    assert "compared 64 of 130 images: at most 64 are" in result.findings[0].message


def test_an_array_may_be_named_by_stem_and_have_a_batch_axis(photos: Path, tmp_path: Path) -> None:
    fed = {Path(name).stem: array[None] for name, array in training(photos).items()}
    assert against(fed, photos, tmp_path).findings == ()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut"])
def test_a_broken_dump_is_named(content: bytes, tmp_path: Path, photos: Path) -> None:
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    with pytest.raises(ContractMismatch, match=r"broken\.npz: expected an .npz"):
        check_preprocessing(ParityRequest(SERVED, str(path), [photos]))


def test_an_absent_dump_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContractMismatch, match=r"none\.npz"):
        check_preprocessing(ParityRequest(SERVED, str(tmp_path / "none.npz")))


def test_an_array_of_words_is_refused(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(ContractMismatch, match="expected numbers"):
        against({"coffee.png": np.array(["a"])}, photos, tmp_path)


def test_an_unknown_reference_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ContractMismatch, match=r"torchvision, .*FILE.npz, got 'caffe'"):
        check_preprocessing(ParityRequest(SERVED, "caffe"))


# The adversarial pictures


def test_a_picture_is_the_same_in_bands_of_any_height(monkeypatch: pytest.MonkeyPatch) -> None:
    banded = waves(130, 50, np.random.default_rng(3))
    monkeypatch.setattr(pictures, "_BAND", 1000)
    assert np.array_equal(banded, waves(130, 50, np.random.default_rng(3)))


def test_a_large_picture_takes_little_more_than_itself() -> None:
    tracemalloc.start()
    try:
        whole = waves(2000, 300, np.random.default_rng(0))
        assert tracemalloc.get_traced_memory()[1] < 4 * whole.nbytes
    finally:
        tracemalloc.stop()


def test_the_generated_pictures_bring_out_what_they_are_for() -> None:
    """Each kind makes some fault visible: one that shows none would be worth nothing."""
    pictures = GENERATED
    aliased = list(served(pictures, replace(SERVED, antialias=False)))
    unturned = list(served(pictures, replace(SERVED, apply_exif=False)))
    right = list(served(pictures, SERVED))
    seen = {
        picture.name: (_off(picture, good, bad), _off(picture, good, lying))
        for picture, good, bad, lying in zip(pictures, right, aliased, unturned, strict=True)
    }
    assert seen["noise to be shrunk (1050 x 700)"][0] > 10
    assert all(seen[f"EXIF orientation {n}"][1] > 10 for n in range(2, 9))
    assert seen["EXIF orientation 1"][1] == 0


def _off(picture: Picture, ours: Any, other: Any) -> float:
    one = compare(picture, ours, other, SERVED)
    assert isinstance(one, Compared)
    return one.mean

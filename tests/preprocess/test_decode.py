"""Batches of real bytes through both decoders: order, neighbours, and who hears of a bad image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ensemble.errors import BackendFailure, InvalidInput, ServingError
from ensemble.transform import Transform
from preprocess import dali, picture
from preprocess.decode import Preprocessor
from preprocess.guard import Limits
from tests.conftest import SAMPLES
from tests.fakes import images
from tools.client.transport import padded

GOOD = [
    (SAMPLES / "chelsea.png").read_bytes(),
    (SAMPLES / "rocket.jpg").read_bytes(),
    images.jpeg(300, 200),
    images.progressive_jpeg(),
    images.webp(),
    images.bmp(),
    images.png(),
]
# Seen by the guard or by the decoder; the last is whole by its header and its end.
HTML = b"<html>404</html>"
CUT = images.truncated(GOOD[1], 0.5)
DAMAGED = GOOD[0][:20_000] + bytes(2_000) + GOOD[0][22_000:]


@pytest.fixture(scope="module", params=["dali", "opencv"])
def stage(request: pytest.FixtureRequest) -> Preprocessor:
    as_levels = request.param == "opencv"
    return Preprocessor(Transform(), Limits(), batch_size=64, as_levels=as_levels)


@pytest.fixture(scope="module")
def by_dali() -> Preprocessor:
    return Preprocessor(Transform(), Limits(), batch_size=64)


def request(*encoded: bytes) -> np.ndarray:
    """Several images of one request, padded with zeros to one length."""
    return padded([*encoded])


def pixels(result: Any) -> np.ndarray:
    assert not isinstance(result, ServingError), result
    return np.copy(result["PIXELS"])


def alone(stage: Preprocessor, encoded: bytes) -> np.ndarray:
    return pixels(stage([request(encoded)])[0])


def test_a_batch_gives_what_each_image_gives_alone(stage: Preprocessor) -> None:
    expected = [alone(stage, encoded) for encoded in GOOD]
    together = [pixels(result) for result in stage([request(encoded) for encoded in GOOD])]
    for got, wanted in zip(together, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_request_of_several_padded_images_gives_the_same(stage: Preprocessor) -> None:
    expected = np.concatenate([alone(stage, encoded) for encoded in GOOD])
    np.testing.assert_array_equal(pixels(stage([request(*GOOD)])[0]), expected)


@pytest.mark.parametrize("bad", [HTML, CUT, DAMAGED], ids=["html", "cut", "damaged"])
@pytest.mark.parametrize("position", [0, 3, 7])
def test_a_bad_image_fails_alone(stage: Preprocessor, bad: bytes, position: int) -> None:
    expected = [alone(stage, encoded) for encoded in GOOD]
    batch = [request(encoded) for encoded in GOOD]
    batch.insert(position, request(bad))
    results = stage(batch)
    assert isinstance(results.pop(position), InvalidInput)
    for got, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(pixels(got), wanted)
    after = stage([request(encoded) for encoded in GOOD])
    np.testing.assert_array_equal(pixels(after[2]), expected[2])


@pytest.mark.parametrize("bad", [HTML, CUT, DAMAGED], ids=["html", "cut", "damaged"])
def test_a_request_of_several_names_the_bad_one(stage: Preprocessor, bad: bytes) -> None:
    first, second = stage([request(GOOD[0], GOOD[2], bad, GOOD[3]), request(GOOD[4])])
    assert isinstance(first, InvalidInput)
    assert str(first).startswith("image 3 of 4: ")
    np.testing.assert_array_equal(pixels(second), alone(stage, GOOD[4]))


def test_a_jpeg_that_lost_only_its_end_marker_gives_the_same_pixels(stage: Preprocessor) -> None:
    whole, cut = GOOD[1], GOOD[1][:-2]
    np.testing.assert_array_equal(alone(stage, cut), alone(stage, whole))
    in_batch = stage([request(GOOD[0]), request(cut), request(GOOD[2])])
    np.testing.assert_array_equal(pixels(in_batch[1]), alone(stage, whole))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("padding", [0, 1000])
def test_a_cut_jpeg_is_never_half_a_picture(
    stage: Preprocessor, share: float, padding: int
) -> None:
    encoded = images.truncated(images.jpeg(400, 400), share) + bytes(padding)
    assert isinstance(stage([request(encoded)])[0], InvalidInput)


def test_both_decoders_give_the_same_levels(by_dali: Preprocessor) -> None:
    """Rounded to whole levels in another order of adding: seen, no difference at all."""
    by_opencv = Preprocessor(Transform(), Limits(), batch_size=64, as_levels=True)
    for encoded in GOOD:
        levels, normed = alone(by_opencv, encoded), alone(by_dali, encoded)
        assert levels.dtype == np.uint8
        assert normed.dtype == np.float32
        assert np.abs(levels - (normed * 128 + 127)).mean() < 0.01


def test_huge_pictures_are_decoded_by_dali_in_several_runs(
    by_dali: Preprocessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [pixels(result) for result in by_dali([request(encoded) for encoded in GOOD])]
    monkeypatch.setattr(dali, "MAX_RUN_PIXELS", 1)
    runs: list[int] = []
    decoder: Any = by_dali._decode
    original = decoder._try
    monkeypatch.setattr(decoder, "_try", lambda run: runs.append(len(run)) or original(run))
    got = by_dali([request(*GOOD[:3]), request(*GOOD[3:])])
    assert runs == [1] * len(GOOD)
    np.testing.assert_array_equal(
        np.concatenate([pixels(result) for result in got]), np.concatenate(expected)
    )


def test_one_request_may_not_be_larger_than_a_few_of_the_largest(
    stage: Preprocessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "limits", Limits(max_pixels=images.HEIGHT * images.WIDTH))
    good = images.png()
    four, five = stage([request(*[good] * 4), request(*[good] * 5)])
    assert pixels(four).shape[0] == 4
    assert isinstance(five, InvalidInput)
    assert "together" in str(five)


def test_nothing_but_bad_images_is_answered_too(stage: Preprocessor) -> None:
    results = stage([request(HTML), request(CUT), request(DAMAGED, HTML)])
    assert [type(result) for result in results] == [InvalidInput] * 3


def test_a_dali_that_runs_out_of_memory_is_our_failure(
    by_dali: Preprocessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def feed_input(self, name: str, batch: list[np.ndarray]) -> None:
            pass

        def run(self) -> None:
            raise RuntimeError("std::bad_alloc")

    decoder: Any = by_dali._decode
    monkeypatch.setattr(decoder, "_pipeline", Failing())
    original = dali.build_pipeline
    monkeypatch.setattr(dali, "build_pipeline", lambda *settings: Failing())
    (result,) = by_dali([request(GOOD[0])])
    assert isinstance(result, BackendFailure)
    assert "bad_alloc" not in str(result)
    decoder._pipeline = original(*decoder._settings)
    assert by_dali([request(GOOD[0])])[0]["PIXELS"].shape == (1, 3, 224, 224)


def test_an_opencv_that_runs_out_of_memory_is_our_failure_and_for_that_image_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    by_opencv = Preprocessor(Transform(), Limits(), batch_size=64, as_levels=True)
    original = picture.cv2.imdecode

    def imdecode(data: np.ndarray, flags: int) -> Any:
        if len(data) == len(GOOD[1]):
            raise picture.cv2.error("Insufficient memory")
        return original(data, flags)

    monkeypatch.setattr(picture.cv2, "imdecode", imdecode)
    first, failed, third = by_opencv([request(encoded) for encoded in GOOD[:3]])
    assert isinstance(failed, BackendFailure)
    assert "Insufficient" not in str(failed)
    assert "Insufficient" in caplog.text
    assert pixels(first).shape == pixels(third).shape == (1, 3, 224, 224)

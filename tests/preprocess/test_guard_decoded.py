"""What DALI makes of the files that the guard lets through, whole ones and doubtful ones."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nvidia.dali import fn, types
from nvidia.dali.pipeline import Pipeline
from PIL import Image, ImageOps

from preprocess.guard import Limits, inspect, trial_endings
from tests.fakes import images as fake
from tests.fakes.good_images import GOOD

Factory = Callable[[], bytes]

LIMITS = Limits()
HEIGHT, WIDTH = fake.HEIGHT, fake.WIDTH
BASELINE: dict[str, Factory] = {
    "baseline": fake.jpeg,
    "grey": fake.grey_jpeg,
    "thumbnail": fake.jpeg_with_thumbnail,
}
ONE_SCAN: dict[str, Factory] = {**BASELINE, "CMYK": fake.cmyk_jpeg}
LOST_END: dict[str, Factory] = {
    **ONE_SCAN,
    "progressive": fake.progressive_jpeg,
    "restart": fake.restart_jpeg,
}


@pytest.mark.parametrize("zeros", [0, 1, 5000])
@pytest.mark.parametrize("name", LOST_END)
def test_a_jpeg_without_its_end_marker_is_left_to_the_decoder(name: str, zeros: int) -> None:
    data = LOST_END[name]()
    header = inspect(fake.padded(data[:-2], zeros), LIMITS)
    assert (header.height, header.width, header.complete) == (HEIGHT, WIDTH, False)
    assert header.end == len(data) - 2


@pytest.mark.parametrize("zeros", [0, 5000])
@pytest.mark.parametrize("name", ONE_SCAN)
def test_the_end_marker_of_a_thumbnail_does_not_make_a_cut_file_whole(
    name: str, zeros: int
) -> None:
    data = fake.jpeg_with_thumbnail(ONE_SCAN[name]())
    cut = data[: -len(ONE_SCAN[name]()) // 4]
    header = inspect(fake.padded(cut, zeros), LIMITS)
    assert (header.height, header.width, header.complete) == (HEIGHT, WIDTH, False)


def test_a_progressive_jpeg_closed_before_its_last_scans_is_left_to_the_decoder() -> None:
    data = fake.progressive_jpeg()
    header = inspect(data[: data.rindex(b"\xff\xda")] + b"\xff\xd9", LIMITS)
    assert not header.complete


def test_trial_endings_replace_the_padding_and_differ() -> None:
    data = fake.jpeg()
    array = np.frombuffer(fake.padded(data[:-2]), np.uint8)
    plain, noisy = trial_endings(array, inspect(array, LIMITS))
    assert plain.tobytes() == data
    assert noisy.tobytes().startswith(data[:-2])
    assert noisy.tobytes().endswith(b"\xff\xd9")
    assert len(noisy) > len(plain)


def decoded(data: Any) -> Any:
    """What DALI makes of the file, (height, width, 3) uint8, on the CPU."""
    pipeline = Pipeline(
        batch_size=1,
        num_threads=1,
        device_id=None,
        prefetch_queue_depth=1,
        exec_pipelined=False,
        exec_async=False,
    )
    with pipeline:
        encoded = fn.external_source(name="IMAGE", dtype=types.UINT8, ndim=1)
        pipeline.set_outputs(fn.decoders.image(encoded, output_type=types.RGB))
    pipeline.build()
    pipeline.feed_input("IMAGE", [np.frombuffer(bytes(data), np.uint8)])
    return np.copy(np.asarray(pipeline.run()[0].as_tensor())[0])


@pytest.mark.parametrize("name", LOST_END)
def test_equal_trials_mean_that_only_the_end_marker_is_missing(name: str) -> None:
    data = LOST_END[name]()
    array = np.frombuffer(fake.padded(data[:-2]), np.uint8)
    plain, noisy = (decoded(trial) for trial in trial_endings(array, inspect(array, LIMITS)))
    assert np.array_equal(plain, noisy)
    assert np.array_equal(plain, decoded(data))


@pytest.mark.parametrize("lost_bytes", [30, 100, 400])
@pytest.mark.parametrize("name", ONE_SCAN)
def test_trials_of_a_cut_file_differ(name: str, lost_bytes: int) -> None:
    array = np.frombuffer(fake.padded(ONE_SCAN[name]()[:-lost_bytes]), np.uint8)
    plain, noisy = (decoded(trial) for trial in trial_endings(array, inspect(array, LIMITS)))
    assert not np.array_equal(plain, noisy)


# Seen: at most 0.5 for YCCK, whose conversion rounds twice, and 0 for all others.
MEAN_LEVELS = 1.0


@pytest.mark.parametrize("name", [name for name in GOOD if name != "PNG I;16"])
def test_what_the_guard_accepts_dali_decodes_as_pillow_does(name: str) -> None:
    data = GOOD[name][0]()
    with Image.open(io.BytesIO(data)) as image:
        expected = np.asarray(ImageOps.exif_transpose(image).convert("RGB"), np.int16)
    assert np.abs(decoded(data) - expected).mean() <= MEAN_LEVELS


def test_a_grey_png_of_16_bits_is_scaled_where_pillow_clips_it() -> None:
    levels = np.asarray(fake.picture(mode="L"))
    wide = Image.fromarray(levels.astype(np.uint16) * 257)
    assert np.array_equal(decoded(fake.saved(wide, "PNG"))[..., 0], levels)

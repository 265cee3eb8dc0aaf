"""What counts as the same answer."""

from __future__ import annotations

import numpy as np
import pytest

from tools.validate.model.compare import (
    Noise,
    answers_flipped,
    distance,
    is_explained,
    origin,
)

RNG = np.random.default_rng(3)
ALONE = [RNG.normal(size=(1, 4, 6)).astype(np.float32) for _ in range(3)]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.5),
        ([np.nan, np.inf], [np.nan, np.inf], 0.0),
        ([np.nan], [1.0], np.inf),
        ([np.inf], [1.0], np.inf),
        ([1.0], [[1.0]], np.inf),
    ],
)
def test_distance(left: list[float], right: list[float], expected: float) -> None:
    assert distance(np.array(left, np.float32), np.array(right, np.float32)) == expected


def test_whole_numbers_and_words_are_the_same_or_not() -> None:
    assert distance(np.array([1]), np.array([1])) == 0
    assert distance(np.array([1]), np.array([2])) == np.inf
    assert distance(np.array(["a"], object), np.array(["b"], object)) == np.inf


@pytest.mark.parametrize(
    ("dtype", "depth", "passes", "fails"),
    [("float32", 1, 1e-5, 1e-3), ("float32", 4000, 1e-4, 1e-2), ("float16", 10, 1e-2, 0.2)],
)
def test_the_bound_lies_between_noise_and_leak(
    dtype: str, depth: int, passes: float, fails: float
) -> None:
    bound = Noise(depth, {}).bound("y", [np.full((1, 3), 10, dtype)])
    assert 10 * passes < bound < 10 * fails


def test_a_touchy_model_has_more_noise_but_not_without_end() -> None:
    alone = [np.ones((1, 3), np.float32)]
    calm, touchy, wild = (Noise(9, {"y": moved}) for moved in (0.0, 1e-5, 10.0))
    assert calm.bound("y", alone) < touchy.bound("y", alone) < 0.01
    assert wild.bound("y", alone) == pytest.approx(0.01)


def test_whole_numbers_have_no_noise() -> None:
    assert Noise(100, {}).bound("y", [np.ones((1, 3), np.int64)]) == 0


def stacked(axis: int) -> np.ndarray:
    return np.concatenate(ALONE, axis)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_batch_may_lie_along_any_axis(axis: int) -> None:
    assert is_explained(stacked(axis), ALONE, 0.0)
    assert not is_explained(stacked(axis)[::-1, ::-1, ::-1], ALONE, 0.0)


def test_a_batch_may_lie_behind_what_shares_its_axis() -> None:
    behind = np.stack(ALONE, 2).reshape(1, 12, 6)
    assert is_explained(behind, ALONE, 0.0)
    assert not is_explained(np.roll(behind, 1, 1), ALONE, 0.0)


def test_a_tensor_that_all_share_needs_no_batch() -> None:
    assert is_explained(ALONE[0], [ALONE[0]] * 3, 0.0)
    assert not is_explained(ALONE[0], ALONE, 0.0)


def test_noise_is_explained_and_more_is_not() -> None:
    assert is_explained(stacked(0) + np.float32(1e-6), ALONE, 1e-5)
    assert not is_explained(stacked(0) + np.float32(1e-4), ALONE, 1e-5)


def test_rows_are_traced_to_their_items() -> None:
    batch = np.concatenate([ALONE[2], ALONE[0], ALONE[1]])
    assert origin(batch, ALONE, (2, 0, 1), 0.0) == [2, 0, 1]
    assert origin(batch, ALONE, (0, 1, 2), 0.0) == [2, 0, 1]
    assert origin(batch + np.float32(1), ALONE, (2, 0, 1), 0.0) == [-1, -1, -1]


def test_flipped_answers_are_counted() -> None:
    alone = [np.array([[0.1, 0.9]]), np.array([[0.8, 0.2]])]
    assert answers_flipped(np.array([[0.4, 0.6], [0.1, 0.9]]), alone, (0, 1)) == 1

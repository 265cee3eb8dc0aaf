"""Logits to classes, scores and labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemble.errors import ContractMismatch, InvalidInput
from postprocess.answer import Answerer
from postprocess.labels import load_labels
from postprocess.scores import ranking, top_k
from tests.conftest import ROOT

LABELS = np.array([f"class {n}".encode() for n in range(6)], dtype=object)


def test_the_best_classes_come_first_with_their_probabilities() -> None:
    logits = np.log(np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]], np.float32))
    classes, scores = top_k(logits, 2)
    assert classes.tolist() == [[1, 2], [0, 2]]
    np.testing.assert_allclose(scores, [[0.6, 0.3], [0.5, 0.3]], rtol=1e-6)
    assert (classes.dtype, scores.dtype) == (np.int32, np.float32)


def test_equal_logits_come_in_the_order_of_class_numbers() -> None:
    classes, _ = top_k(np.zeros((1, 1000), np.float32), 5)
    assert classes.tolist() == [[0, 1, 2, 3, 4]]


@given(
    arrays(np.float32, (3, 7), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])), st.integers(1, 7)
)
def test_ties_and_order_are_those_of_a_whole_stable_sort(logits: np.ndarray, k: int) -> None:
    expected = np.argsort(-logits, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(top_k(logits, k)[0], expected)


finite = st.floats(-(2.0**100), 2.0**100, width=32)


@given(arrays(np.float32, st.tuples(st.integers(1, 4), st.just(6)), elements=finite))
def test_probabilities_are_finite_sum_to_one_and_never_mix_rows(logits: np.ndarray) -> None:
    classes, probabilities = top_k(logits, 6)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-5)
    for row, alone in zip(classes, logits, strict=True):
        assert row.tolist() == top_k(alone[None], 6)[0][0].tolist()


def test_each_request_gets_its_own_rows_and_a_bad_one_fails_alone() -> None:
    rng = np.random.default_rng(0)
    requests = [rng.normal(size=(n, 6)).astype(np.float32) for n in (1, 3, 2)]
    requests[1][2, 4] = np.nan
    first, second, third = Answerer(LABELS, 2)(requests)
    assert isinstance(second, InvalidInput)
    assert "image 3 of 3" in str(second)
    for answer, request in ((first, requests[0]), (third, requests[2])):
        alone = Answerer(LABELS, 2)([request])[0]
        assert answer["CLASS_ID"].tolist() == request.argsort(axis=1)[:, ::-1][:, :2].tolist()
        np.testing.assert_array_equal(answer["SCORE"], alone["SCORE"])
        assert answer["LABEL"].tolist() == [[LABELS[c] for c in row] for row in answer["CLASS_ID"]]


def test_the_shipped_labels_are_a_thousand_different_names() -> None:
    labels = load_labels(ROOT / "model_repository/postprocess/1/labels.txt", 1000)
    assert len(set(labels)) == 1000
    assert labels[967] == b"espresso"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a\nb\n", "expected 3 names, got 2"),
        (b"a\n\nc\n", ":2: blank"),
        (b"a\nb\n\xff\n", "UTF-8"),
    ],
)
def test_a_label_file_that_does_not_fit_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes(content)
    with pytest.raises(ContractMismatch, match=said):
        load_labels(path, 3)


def test_carriage_returns_are_not_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes(b"a\r\nb \r\n")
    assert load_labels(path, 2).tolist() == [b"a", b"b"]


def test_a_sigmoid_scores_each_class_by_itself() -> None:
    logits = np.array([[2.0, -3.0, 0.0, 2.0]], np.float32)
    classes, scores = ranking("sigmoid", "TYPE_FP32")(logits, 3)
    assert classes.tolist() == [[0, 3, 2]]
    np.testing.assert_allclose(scores, [[0.880797, 0.880797, 0.5]], rtol=1e-6)
    assert (classes.dtype, scores.dtype) == (np.int32, np.float32)


def test_a_sigmoid_overflows_nowhere_and_keeps_the_small_ones() -> None:
    logits = np.array([[200.0, -200.0, -20.0]], np.float32)
    _, scores = ranking("sigmoid", "TYPE_FP32")(logits, 3)
    np.testing.assert_allclose(scores, [[1.0, 2.061154e-9, 0.0]], rtol=1e-6)


def test_a_models_own_probabilities_are_not_touched() -> None:
    probabilities = np.array([[0.1, 0.7, 0.2], [0.5, 0.25, 0.25]], np.float32)
    classes, scores = ranking("none", "TYPE_FP32")(probabilities, 2)
    assert classes.tolist() == [[1, 2], [0, 1]]
    np.testing.assert_array_equal(scores, np.array([[0.7, 0.2], [0.5, 0.25]], np.float32))
    assert (classes.dtype, scores.dtype) == (np.int32, np.float32)


@pytest.mark.parametrize("kind", ["softmax", "sigmoid", "none"])
def test_half_precision_is_scored_as_what_it_stands_for(kind: str) -> None:
    logits = np.random.default_rng(0).normal(size=(2, 6)).astype(np.float16)
    got = Answerer(LABELS, 2, ranking(kind, "TYPE_FP16"))([logits])[0]
    wide = Answerer(LABELS, 2, ranking(kind, "TYPE_FP32"))([logits.astype(np.float32)])[0]
    assert not isinstance(got, InvalidInput)
    assert got["SCORE"].dtype == np.float32
    np.testing.assert_array_equal(got["SCORE"], wide["SCORE"])
    np.testing.assert_array_equal(got["CLASS_ID"], wide["CLASS_ID"])


def test_the_default_costs_no_wrapper() -> None:
    assert ranking("softmax", "TYPE_FP32") is top_k


@pytest.mark.parametrize(("kind", "data_type"), [("relu", "TYPE_FP32"), ("none", "TYPE_INT8")])
def test_scores_of_an_unknown_kind_or_type_are_refused(kind: str, data_type: str) -> None:
    with pytest.raises(ContractMismatch, match=f"got {kind} of {data_type}"):
        ranking(kind, data_type)

"""A batch is a stack of rows: end to end and stage by stage, over both protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from ensemble.errors import CheckFailed
from tests.conftest import RunningServer
from tests.serving.clients import PROTOCOLS, GrpcClient, HttpClient, connect, outcomes, sender
from tests.serving.pictures import pictures, stack
from tests.serving.repositories import FAULTS
from tools.validate.batch_axis import TOLERANCES, Array, Outputs, Send, check_batch_axis

SEED = 20240805
LARGEST = 64

Client = GrpcClient | HttpClient


# The real server


@pytest.fixture(params=PROTOCOLS)
def client(server: RunningServer, request: pytest.FixtureRequest) -> Iterator[Client]:
    with connect(server, request.param) as one:
        yield one


@pytest.fixture(scope="module")
def items(server: RunningServer) -> dict[str, Sequence[Any]]:
    """What each model is asked, one image each: the stages get what the stage before made."""
    images = pictures()
    with connect(server, "grpc") as grpc:
        pixels = [grpc.infer("preprocess", stack([image]))["PIXELS"][0] for image in images]
        logits = [grpc.infer("classifier", one[None])["LOGITS"][0] for one in pixels]
    return {"ensemble": images, "preprocess": images, "classifier": pixels, "postprocess": logits}


@pytest.mark.server
def test_rounding_cannot_change_the_order_of_the_classes(items: dict[str, Sequence[Any]]) -> None:
    """So comparing CLASS_ID and LABEL exactly is fair."""
    best = -np.sort(-np.stack(items["postprocess"]), axis=1)[:, :6]
    allowed = 2 * TOLERANCES["LOGITS"].absolute  # one goes up, the next one down
    assert (best[:, :-1] - best[:, 1:]).min() > allowed


@pytest.mark.server
@pytest.mark.parametrize("model", ["ensemble", "preprocess", "classifier", "postprocess"])
def test_rows_are_independent(client: Client, items: dict[str, Sequence[Any]], model: str) -> None:
    gather = stack if model in ("ensemble", "preprocess") else np.stack
    rng = np.random.default_rng(SEED)
    check_batch_axis(sender(client, model, gather), items[model], rng)  # up to 64, the largest


@pytest.mark.server
def test_zeros_behind_an_image_change_nothing(client: Client) -> None:
    """A request's images are of one length on the wire: the shorter ones end in zeros."""
    for image in pictures()[1:3]:  # a JPEG, a PNG
        bare = client.infer("preprocess", stack([image]))["PIXELS"]
        for zeros in (1, 3, 4096, 1_000_000):
            padded = client.infer("preprocess", stack([image + bytes(zeros)]))["PIXELS"]
            assert np.array_equal(padded, bare), f"{zeros} zeros"


@pytest.mark.server
@pytest.mark.parametrize("model", ["ensemble", "preprocess", "classifier", "postprocess"])
def test_more_than_the_largest_batch_is_refused_alone(
    client: Client, items: dict[str, Sequence[Any]], model: str
) -> None:
    gather: Callable[..., Array] = np.stack if model in ("classifier", "postprocess") else stack
    one = gather(items[model][:1])
    before = client.infer(model, one)
    too_many = gather([items[model][0]] * (LARGEST + 1))
    *others, refusal = outcomes(client, model, [one, one, one, too_many])
    assert isinstance(refusal, InferenceServerException)
    assert refusal.status() in ("StatusCode.INVALID_ARGUMENT", "400")
    assert f"batch-size must be <= {LARGEST} for '{model}'" in refusal.message()
    for outputs in (*others, client.infer(model, one)):
        assert not isinstance(outputs, InferenceServerException)
        for name, rows in before.items():
            if rows.dtype.kind == "f":
                np.testing.assert_allclose(outputs[name], rows, rtol=1e-4, atol=1e-4)
            else:
                np.testing.assert_array_equal(outputs[name], rows)


# Red: real servers that are wrong


FIRST_BATCH = "(mixed, 1|together, 2)"
"""Where rows first meet: two requests that the server puts together, or one request of two."""


@pytest.mark.server
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_stage_is_found(
    wrong_server: RunningServer, items: dict[str, Sequence[Any]], fault: str
) -> None:
    with connect(wrong_server, "grpc") as grpc:
        send = sender(grpc, f"postprocess_{fault}")
        with pytest.raises(CheckFailed, match=f"{FIRST_BATCH} items: output") as found:
            check_batch_axis(send, items["postprocess"], np.random.default_rng(SEED), (1, 2, 7))
    if fault == "swaps":
        assert "which is the answer to item" in str(found.value)


@pytest.mark.server
def test_a_wrong_stage_is_found_through_the_ensemble(wrong_server: RunningServer) -> None:
    with connect(wrong_server, "http") as http:
        right, wrong = (sender(http, name, stack) for name in ("ensemble", "ensemble_mixes"))
        rng = np.random.default_rng(SEED)
        check_batch_axis(right, pictures()[:7], rng, sizes=(1, 2, 7))
        with pytest.raises(CheckFailed, match=f"{FIRST_BATCH} items: output"):
            check_batch_axis(wrong, pictures()[:7], rng, sizes=(1, 2, 7))


# Red: each kind of fault, in process


Stage = Callable[[Sequence[Array]], Sequence[Outputs]]
ITEMS = tuple(np.float32(n) for n in range(11))


def in_process(stage: Stage) -> Send[np.float32]:
    """All requests in one batch, as a busy server would have them."""
    return lambda requests: stage([np.array(request) for request in requests])


def right(arrays: Sequence[Array]) -> list[Outputs]:
    return [{"SCORE": rows / 16, "LABEL": rows.astype(np.int32).astype("S")} for rows in arrays]


def with_rows(change: Callable[[Array], Array]) -> Stage:
    """The right answers to rows that ``change`` has been at, the whole batch at once."""

    def stage(arrays: Sequence[Array]) -> Sequence[Outputs]:
        rows = change(np.concatenate(arrays))
        return right(np.split(rows, np.cumsum([len(array) for array in arrays])[:-1]))

    return stage


def with_answer(change: Callable[[dict[str, Array]], Any]) -> Stage:
    """The right answers, each request's changed in place afterwards."""

    def stage(arrays: Sequence[Array]) -> Sequence[Outputs]:
        answers = [dict(answer) for answer in right(arrays)]
        for answer in answers:
            if len(answer["SCORE"]) > 1:
                change(answer)
        return answers

    return stage


def swap_neighbours(rows: Array) -> Array:
    swapped = rows.copy()
    swapped[:2] = rows[:2][::-1]
    return swapped


def of_two_requests(answers: list[Outputs]) -> list[Outputs]:
    return answers[::-1] if len({len(a["SCORE"]) for a in answers}) == 1 else answers


RED = {
    "rows swapped": (
        with_rows(swap_neighbours),
        "together, 2 items: .* is the answer to item",
    ),
    "rows shifted": (with_rows(lambda rows: np.roll(rows, 1)), "together, 2 items: output"),
    "first row for all": (with_rows(lambda rows: np.full_like(rows, rows[0])), "together, 2 items"),
    "mean for all": (with_rows(lambda rows: np.full_like(rows, rows.mean())), "together, 2 items"),
    "mean added": (with_rows(lambda rows: rows + rows.mean() - rows[0]), "together, 2 items"),
    "one answer for all": (with_rows(np.zeros_like), "alone: expected another answer for each"),
    "last of a full batch lost": (
        with_rows(lambda rows: np.where(np.arange(len(rows)) < 63, rows, rows[0])),
        "together, 64 items: output .*, row 63 of 64",
    ),
    "responses in another order": (
        lambda arrays: of_two_requests(right(arrays)),
        "concurrent, 2 items: output",
    ),
    "cut in equal parts": (
        lambda arrays: right(np.array_split(np.concatenate(arrays), len(arrays))),
        "mixed, 3 items: output SCORE: expected float32 .1,., got float32 .2,.",
    ),
    "a response is missing": (
        lambda arrays: right(arrays)[: max(1, len(arrays) - 1)],
        "expected 2 responses, got 1",
    ),
    "an output is missing": (
        with_answer(lambda answer: answer.pop("LABEL")),
        r"together, 2 items: expected outputs \['LABEL', 'SCORE'\], got \['SCORE'\]",
    ),
    "another dtype": (
        with_answer(lambda answer: answer.update(SCORE=answer["SCORE"].astype(np.float64))),
        "output SCORE: expected float32 .2,., got float64",
    ),
    "a row too few": (
        with_answer(lambda answer: answer.update(SCORE=answer["SCORE"][1:])),
        r"output SCORE: expected float32 \(2,\), got float32 \(1,\)",
    ),
    "the batch axis is gone": (
        with_answer(lambda answer: answer.update(SCORE=answer["SCORE"][None])),
        r"output SCORE: expected float32 \(2,\), got float32 \(1, 2\)",
    ),
    "more than rounding": (
        with_answer(lambda answer: answer.update(SCORE=answer["SCORE"] + np.float32(1e-3))),
        "0.001 apart where 0.0001 of the value and 1e-05 are allowed",
    ),
    "not a number": (
        with_answer(lambda answer: answer.update(SCORE=answer["SCORE"] * np.float32("nan"))),
        "output SCORE, row 0 of 2 .* got .nan",
    ),
    "exact outputs have no tolerance": (
        with_answer(lambda answer: answer.update(LABEL=answer["LABEL"][::-1])),
        "together, 2 items: output LABEL, row 0 of 2",
    ),
}


def test_the_right_answers_pass() -> None:
    check_batch_axis(in_process(right), ITEMS, np.random.default_rng(SEED))


def test_rounding_passes() -> None:
    rounded = with_answer(lambda answer: answer.update(SCORE=answer["SCORE"] + np.float32(5e-6)))
    check_batch_axis(in_process(rounded), ITEMS, np.random.default_rng(SEED))


@pytest.mark.parametrize("fault", RED)
def test_each_fault_is_found(fault: str) -> None:
    stage, message = RED[fault]
    with pytest.raises(CheckFailed, match=message):
        check_batch_axis(in_process(stage), ITEMS, np.random.default_rng(SEED))

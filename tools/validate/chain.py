"""A repository's own stages on the user's own images: is a batch a stack of independent rows?

Without a server: the stages run in this process, one after the other, and are asked for the same
images alone, together, permuted and mixed with others. What every stage gives is compared, so one
pass proves each stage and the whole.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ensemble.errors import ServingError
from tools.client.sources import find
from tools.validate import stages as serving
from tools.validate.batch_axis import (
    SIZES,
    Answer,
    Outputs,
    RowsDiffer,
    Send,
    Tolerance,
    check_batch_axis,
    check_neighbours,
    raising,
)
from tools.validate.findings import Finding, Place, Rule
from tools.validate.model import memory
from tools.validate.rules import preprocessing as rules
from tools.validate.stages import Rows, Stage, StageFailed, Stages
from tools.validate.variants import damaged, evenly, variants

Array = np.ndarray[Any, Any]

_ITEMS = 8
_FEW = 4  # items of the runs with bad neighbours
_PROMISED = 7  # images in a batch that is tried whatever it costs
_STAGES = 3  # each with what the measured batch did not show
_ARENA = 2  # ONNX Runtime's memory grows by doubling
_SMALL = 8  # above this many images a run costs seconds: one relation, which holds the others
_BLOCKED = "ONNX Runtime may block a batch differently, and so round its sums differently"
# 1280 terms of float32 rounding, each below 20, are 20 * 1.2e-7 * sqrt(1280) = 9e-5: so much for
# logits up to 20, and in proportion for larger ones.
_LOGITS_SHARE = 1e-4 / 20
_HTML = b"<!doctype html><title>404 Not Found</title>"


def check_chain(
    repository: Path,
    images: Sequence[Path],
    rng: np.random.Generator,
    memory_bytes: int | None = None,
) -> Iterator[Finding]:
    """Whether every stage answers a batch as it answers its rows; the first fault, if there is one.

    Args:
        repository: a model repository.
        images: files, or folders of them; variants are made where they are few.
        rng: chooses orders and company.
        memory_bytes: what this process may take besides thrice the model, so that large batches
            may be left out; None: as much as it needs.

    Raises:
        OSError: an image can't be read.
        CheckFailed: no image can be decoded.
    """
    try:
        stages = serving.load(repository)
    except serving.OfAnotherKind as error:
        yield rules.NOT_RUN.at(Place(repository), f"not run: {error}")
        return
    except Exception as error:  # a broken model may raise anything; the user gets its message
        yield rules.NOT_STARTED.at(Place(repository), f"{type(error).__name__}: {error}")
        return
    given = evenly(find(map(str, images)), _ITEMS)
    encoded = variants([source.read() for source in given], _ITEMS, rng)
    if memory_bytes is not None:
        largest = _affordable(stages, encoded, memory_bytes)
        if largest < stages.max_batch_size:
            most = stages.max_batch_size
            message = f"tried up to {largest} images of the {most} that are allowed, to save memory"
            yield rules.LARGEST_NOT_TRIED.at(Place(repository), message)
            stages = replace(stages, max_batch_size=largest)
    with _quiet():
        yield from check_stages(stages, encoded, rng, Place(repository))


def _affordable(stages: Stages, encoded: Sequence[bytes], memory_bytes: int) -> int:
    """The most images of a batch whose run stays within what is allowed, or the sizes promised."""
    promised = min(_PROMISED, stages.max_batch_size)
    batch = [_stacked([np.frombuffer(data, np.uint8) for data in encoded[:promised]])]
    stages.chain([batch[0][:1]])  # what a first run keeps is not a batch's
    growth = memory.growth_bytes(lambda: stages.chain(batch)) / promised
    free = memory.allowed_bytes(stages.model_bytes, memory_bytes)
    free -= _STAGES * memory.SPARE_BYTES + memory.resident_bytes()
    more = int(free / max(_ARENA * growth, 1))
    return min(stages.max_batch_size, promised + max(0, more))


def check_stages(
    stages: Stages, encoded: Sequence[bytes], rng: np.random.Generator, place: Place
) -> Iterator[Finding]:
    """The same for stages that are there already; see ``check_chain``.

    Args:
        stages: what to try.
        encoded: images that can be decoded, two or more, no two alike.
        rng: chooses orders and company.
        place: for the findings.
    """
    images = [np.frombuffer(data, np.uint8) for data in encoded]
    send = raising(in_process(stages.chain, stages.max_batch_size))
    try:
        alone = [send([[image]])[0] for image in images]
    except ServingError as error:
        yield rules.NOT_STARTED.at(place, f"one image alone: {error}")
        return
    prover = _Prover(stages, images, alone)
    for stage, why in prover.not_tried():
        yield rules.ANSWERS_ALIKE.at(place, f"{stage}: {len(images)} images, {why}")
    try:
        prover.check(damaged(encoded[0]), rng)
    except (RowsDiffer, StageFailed) as error:
        stage, rule = prover.blame(error)
        yield rule.at(place, f"{stage}: {error}")


class _Prover:
    """One run over the stages, with what is known of each image alone."""

    def __init__(self, stages: Stages, images: list[Array], alone: Sequence[Outputs]) -> None:
        pixels, logits, *answers = alone[0]
        self._alone = alone
        self._pixels = [rows[pixels][0] for rows in alone]
        self._logits = [rows[logits][0] for rows in alone]
        self._owners = {pixels: "preprocess", logits: "classifier"}
        self._owners |= dict.fromkeys(answers, "postprocess")
        allowed = _LOGITS_SHARE * max(20.0, float(np.abs(self._logits).max()))
        self._tolerances: Mapping[str, Tolerance] = {
            logits: Tolerance(0.0, allowed, _BLOCKED),
            # exp() of logits that are off by so much is off by that share, and so is its sum.
            "SCORE": Tolerance(2 * allowed, 1e-5, _BLOCKED),
        }
        margin = 2 * allowed  # one goes up, the next one down
        answered = max(alone[0][name].shape[1] for name in answers)
        pairs = zip(images, self._logits, strict=True)
        clear = [image for image, row in pairs if _is_clear(row, answered, margin)]
        self._too_close = len(clear) < 2
        self._stages = replace(stages, postprocess=_nothing) if self._too_close else stages
        self._images = images if self._too_close else clear
        compared = (pixels, logits) if self._too_close else (pixels, logits, *answers)
        self._known = {
            id(image): {name: rows[name] for name in compared}
            for image, rows in zip(images, alone, strict=True)
        }

    def not_tried(self) -> Iterator[tuple[str, str]]:
        """Stages whose answers can't show a swap, and why."""
        for stage in dict.fromkeys(self._owners.values()):
            names = [name for name, owner in self._owners.items() if owner == stage]
            first = self._alone[0]
            if all(np.array_equal(rows[n], first[n]) for rows in self._alone for n in names):
                yield stage, "all with the same answer"
            elif stage == "postprocess" and self._too_close:
                yield stage, "best classes too close to each other to compare their order"

    def check(self, damage: bytes, rng: np.random.Generator) -> None:
        """All stages on good images, then each beside what it can't answer.

        Args:
            damage: an image whose header is right and whose data are not.
            rng: chooses orders and company.

        Raises:
            RowsDiffer: a batch is not the stack of its rows.
            StageFailed: a stage fails on a batch.
        """
        most = self._stages.max_batch_size
        chain = _asked_once(in_process(self._stages.chain, most), self._known)
        send = raising(chain)
        small = sorted({n for n in (*SIZES, most) if n <= min(most, _SMALL)})
        self._same(send, rng, small, ("together", "permuted", "mixed"))
        if most > _SMALL:
            # One full batch: in another order, in uneven requests, with others in between.
            self._same(send, rng, (_with_company(most),), ("mixed",))
        bad = [np.frombuffer(data, np.uint8) for data in (_HTML, damage)]
        self._beside(chain, self._images, bad)
        for (name, stage), items in zip(
            list(self._stages.named())[1:], (self._pixels, self._logits), strict=True
        ):
            if items[0].dtype.kind == "f":  # no level of an image is a bad one
                answer = in_process(partial(serving.run, name, stage), most)
                self._beside(answer, items, [np.full_like(items[0], np.nan)])

    def _same(
        self,
        send: Send[Array],
        rng: np.random.Generator,
        sizes: Sequence[int],
        relations: Sequence[str],
    ) -> None:
        check_batch_axis(send, self._images, rng, sizes, self._tolerances, relations)

    def _beside(self, answer: Answer[Array], items: Sequence[Array], bad: Sequence[Array]) -> None:
        try:
            most = self._stages.max_batch_size * (len(bad) + 1)  # in one request before each
            check_neighbours(answer, items[: min(_FEW, most)], bad, self._tolerances)
        except StageFailed as error:
            raise RowsDiffer("neighbour", f"beside a bad item: {error}") from error

    def blame(self, error: RowsDiffer | StageFailed) -> tuple[str, Rule]:
        """The stage at fault, and the rule that it breaks."""
        if isinstance(error, StageFailed):
            return error.stage, rules.OF_STAGE[error.stage]["fails"]
        if error.kind == "alike":
            return "preprocess", rules.OF_STAGE["preprocess"]["collapses"]
        cause = error.__cause__
        shown = str(error.output)  # an output, or the stage itself
        stage = cause.stage if isinstance(cause, StageFailed) else self._owners.get(shown, shown)
        return stage, rules.OF_STAGE[stage][error.kind]


def in_process(stage: Stage, max_batch_size: int) -> Answer[Array]:
    """Asks as a busy server would: requests together, up to the largest batch."""

    def answer(requests: Sequence[Sequence[Array]]) -> list[Outputs | ServingError]:
        arrays = [_stacked(request) for request in requests]
        return [one for batch in _batches(arrays, max_batch_size) for one in stage(batch)]

    return answer


def _asked_once(answer: Answer[Array], known: Mapping[int, Outputs]) -> Answer[Array]:
    """Without asking again about an item alone whose answer is known, by the item's ``id``."""

    def ask(requests: Sequence[Sequence[Array]]) -> Sequence[Outputs | ServingError]:
        if len(requests) == 1 and len(requests[0]) == 1 and id(requests[0][0]) in known:
            return [known[id(requests[0][0])]]
        return answer(requests)

    return ask


def _with_company(most: int) -> int:
    """How many items of a mixed run, with the others that come in between, fill a batch."""
    sizes = (n for n in range(1, most) if n + math.ceil((math.sqrt(8 * n + 1) - 1) / 2) <= most)
    return max(sizes, default=1)


def _batches(arrays: Sequence[Array], max_batch_size: int) -> Iterator[list[Array]]:
    batch: list[Array] = []
    for array in arrays:
        if batch and sum(map(len, batch)) + len(array) > max_batch_size:
            yield batch
            batch = []
        batch.append(array)
    yield batch


def _stacked(items: Sequence[Array]) -> Array:
    """One request's array; encoded images, which differ in length, end in zeros."""
    if items[0].dtype != np.uint8:
        return np.stack(items)
    rows = np.zeros((len(items), max(map(len, items))), np.uint8)
    for row, item in zip(rows, items, strict=True):
        row[: len(item)] = item
    return rows


def _is_clear(logits: Array, answered: int, margin: float) -> bool:
    """Whether rounding can't turn the order of the classes that are answered."""
    best = np.sort(logits)[::-1][: answered + 1]
    return bool((best[:-1] - best[1:] > margin).all())


def _nothing(inputs: list[Array]) -> list[Rows]:
    """Stands for a last stage that is not tried."""
    return [{} for _ in inputs]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the decoder's log of images that are bad on purpose."""
    logger = logging.getLogger("preprocess.dali")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before

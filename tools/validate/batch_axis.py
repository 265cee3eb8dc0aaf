"""Is a batch a stack of rows that know nothing of each other?

Of anything that batches, five ways to ask for the same N items must give the same N answers::

    alone        each item in a request of its own, one after the other: what the others must equal
    together     one request of N
    concurrent   N requests of one, at once
    permuted     one request of N, in another order
    mixed        uneven requests of the items, at once with requests of other items

Rows that are swapped, dropped, repeated, cut in the wrong place or touched by a neighbour break at
least one of them. Nothing here knows a protocol: a callable does the asking, over gRPC, over HTTP
or in process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ensemble.errors import CheckFailed, ServingError

Item = TypeVar("Item")
Array = np.ndarray[Any, Any]
Outputs = Mapping[str, Array]
"""Output name to its rows, one an item."""
Send = Callable[[Sequence[Sequence[Item]]], Sequence[Outputs]]
"""Requests, each a list of items, to send at once; their outputs, in the order of the requests."""

Answer = Callable[[Sequence[Sequence[Item]]], Sequence[Outputs | ServingError]]
"""The same, where a request that is wrong gets its error in its place."""

SIZES = (1, 2, 3, 7, 64)
RELATIONS = ("together", "concurrent", "permuted", "mixed")


class RowsDiffer(CheckFailed):
    """A batch is not the stack of its rows.

    Attributes:
        kind: ``swaps`` (a row is another item's answer), ``collapses`` (all rows are the same),
            ``mixes`` (a row is nobody's answer), ``form`` (outputs, dtypes, rows or shapes),
            ``alike`` (items can't be told apart alone), ``neighbour`` (a bad item does harm).
        output: the output that shows it; None where it is not about one.
    """

    def __init__(self, kind: str, message: str, output: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.output = output


@dataclass(frozen=True)
class Tolerance:
    """How far an answer may be from that of the same item alone, and why."""

    relative: float
    absolute: float
    reason: str


EXACT = Tolerance(0.0, 0.0, "the same work on the same bytes")
_BLOCKED = "ONNX Runtime may block a batch differently, and so round its sums differently"
TOLERANCES = {
    # Logits stay below 20: 1280 terms of float32 rounding, 20 * 1.2e-7 * sqrt(1280), are 9e-5.
    "LOGITS": Tolerance(0.0, 1e-4, _BLOCKED),
    "SCORE": Tolerance(1e-4, 1e-5, _BLOCKED),
}
"""By output; what is not named is compared exactly: PIXELS, CLASS_ID, LABEL."""


def check_batch_axis(
    send: Send[Item],
    items: Sequence[Item],
    rng: np.random.Generator,
    sizes: Sequence[int] = SIZES,
    tolerances: Mapping[str, Tolerance] = TOLERANCES,
    relations: Sequence[str] = RELATIONS,
) -> None:
    """Compare every relation at every size.

    Args:
        send: asks for several requests at once.
        items: what to ask about; no two may have the same answer, or a swap would not be seen.
        rng: chooses items, orders and company.
        sizes: how many items at a time; the last should be the largest batch.
        tolerances: for the outputs that need not be equal to the last bit.
        relations: which of ``RELATIONS`` to compare.

    Raises:
        RowsDiffer: the relation, the output and the row that break, expected and got.
    """
    reference = _Reference.ask(send, items, tolerances)
    reference.require_no_twins()
    for size in sizes:
        chosen = _choose(rng, len(items), size)
        for relation, requests in _relations(rng, chosen, len(items)):
            if relation not in relations:
                continue
            answers = send([[items[i] for i in request] for request in requests])
            if len(answers) != len(requests):
                raise RowsDiffer(
                    "form",
                    f"{relation}, {size} items: expected {len(requests)} responses, "
                    f"got {len(answers)}",
                )
            for request, outputs in zip(requests, answers, strict=True):
                reference.compare(f"{relation}, {size} items", request, outputs, answers)


def check_neighbours(
    answer: Answer[Item],
    items: Sequence[Item],
    bad: Sequence[Item],
    tolerances: Mapping[str, Tolerance] = TOLERANCES,
) -> None:
    """Good items are answered as they are alone, whatever bad ones come at the same time.

    Args:
        answer: asks for several requests at once.
        items: good ones, two or more.
        bad: those that can't be answered, or not sensibly.
        tolerances: for the outputs that need not be equal to the last bit.

    Raises:
        RowsDiffer: of kind ``neighbour``; or what is wrong without any bad item.
    """
    reference = _Reference.ask(raising(answer), items, tolerances)
    good = list(np.array_split(np.arange(len(items)), len(bad) + 1))
    requests = [[items[i] for i in good[0]]]
    for one, part in zip(bad, good[1:], strict=True):
        requests += [[one], [items[i] for i in part]]
    for part, outputs in zip(good, answer(requests)[::2], strict=True):
        if isinstance(outputs, ServingError):
            message = f"beside a bad item a good one gets {outputs!r}"
            raise RowsDiffer("neighbour", message) from outputs
        try:
            reference.compare("beside a bad item", part, outputs, [outputs])
        except RowsDiffer as error:
            raise RowsDiffer("neighbour", str(error), error.output) from None


def raising(answer: Answer[Item]) -> Send[Item]:
    """Raises the first error among the answers instead of returning it."""

    def send(requests: Sequence[Sequence[Item]]) -> list[Outputs]:
        answers = answer(requests)
        for one in answers:
            if isinstance(one, ServingError):
                raise one
        return answers  # type: ignore[return-value]

    return send


def _relations(
    rng: np.random.Generator, chosen: Array, items: int
) -> Iterator[tuple[str, list[Array]]]:
    """Each relation's name and requests, as item numbers."""
    yield "together", [chosen]
    yield "concurrent", [chosen[n : n + 1] for n in range(len(chosen))]
    if len(chosen) > 1:
        yield "permuted", [_shuffled(rng, chosen)]
    yield "mixed", list(_mixed(rng, chosen, items))


def _choose(rng: np.random.Generator, items: int, size: int) -> Array:
    """``size`` item numbers; every item once before any comes again, no period in the order."""
    rounds = [rng.permutation(items) for _ in range(-(-size // items))]
    chosen: Array = np.concatenate(rounds)[:size]
    return chosen


def _shuffled(rng: np.random.Generator, chosen: Array) -> Array:
    order = rng.permutation(len(chosen))
    in_order = bool((order == np.arange(len(chosen))).all())
    shuffled: Array = chosen[::-1] if in_order else chosen[order]
    return shuffled


def _mixed(rng: np.random.Generator, chosen: Array, items: int) -> Iterator[Array]:
    """The items in requests of 1, 2, 3, ... and a request of another item before each."""
    start, count = 0, 1
    while start < len(chosen):
        yield rng.integers(items, size=1)
        yield chosen[start : start + count]
        start, count = start + count, count + 1


@dataclass(frozen=True)
class _Reference(Generic[Item]):
    """The answers alone: one row an item and output."""

    rows: dict[str, Array]
    tolerances: Mapping[str, Tolerance]

    @classmethod
    def ask(
        cls, send: Send[Item], items: Sequence[Item], tolerances: Mapping[str, Tolerance]
    ) -> _Reference[Item]:
        answers = [send([[item]])[0] for item in items]
        first = answers[0]
        for n, outputs in enumerate(answers):
            _same_form(f"alone, item {n}", first, outputs, rows=1)
        return cls({name: np.concatenate([a[name] for a in answers]) for name in first}, tolerances)

    def require_no_twins(self) -> None:
        """Raise RowsDiffer where two items have the same answer."""
        for n in range(len(next(iter(self.rows.values())))):
            for twin in self.items_like({name: row[n] for name, row in self.rows.items()}):
                if twin != n:
                    raise RowsDiffer(
                        "alike",
                        f"alone: expected another answer for each item, got the same for {n} "
                        f"and {twin}; nobody would see them swapped",
                    )

    def compare(self, where: str, request: Array, outputs: Outputs, run: Sequence[Outputs]) -> None:
        """Raise RowsDiffer unless ``outputs``, one of a run's, are the rows of these items."""
        _same_form(where, self.rows, outputs, rows=len(request))
        for name, got in outputs.items():
            expected = self.rows[name][request]
            equal = self._close(name, got, expected).reshape(len(request), -1).all(axis=1)
            if not equal.all():
                row = int(np.argmin(equal))
                raise RowsDiffer(
                    self._kind(name, run, got[row]),
                    f"{where}: output {name}, row {row} of {len(request)} (item {request[row]}): "
                    f"expected {_short(expected[row])}, got {_short(got[row])}"
                    f"{self._explain(name, got[row], expected[row])}",
                    name,
                )

    def _kind(self, name: str, run: Sequence[Outputs], wrong: Array) -> str:
        rows = [row for outputs in run for row in outputs.get(name, ())]
        alike = (row.shape == wrong.shape and self._close(name, row, wrong).all() for row in rows)
        if len(rows) > 1 and all(alike):
            return "collapses"
        return "swaps" if self.items_like({name: wrong}) else "mixes"

    def items_like(self, outputs: Mapping[str, Array]) -> list[int]:
        """The items whose answers alone are these, in every output given."""
        alike = [
            self._close(name, self.rows[name], row).reshape(len(self.rows[name]), -1).all(axis=1)
            for name, row in outputs.items()
        ]
        return [int(n) for n in np.flatnonzero(np.all(alike, axis=0))]

    def _close(self, name: str, got: Array, expected: Array) -> Array:
        allowed = self.tolerances.get(name, EXACT)
        if allowed is EXACT:
            return np.asarray(got == expected)
        return np.isclose(got, expected, rtol=allowed.relative, atol=allowed.absolute)

    def _explain(self, name: str, got: Array, expected: Array) -> str:
        owners = self.items_like({name: got})
        if owners:
            return f", which is the answer to item {owners[0]}"
        if got.dtype.kind != "f":
            return ""
        allowed = self.tolerances.get(name, EXACT)
        return (
            f", at most {np.max(np.abs(got - expected)):.3g} apart where {allowed.relative:g} of "
            f"the value and {allowed.absolute:g} are allowed ({allowed.reason})"
        )


def _same_form(where: str, expected: Outputs, outputs: Outputs, rows: int) -> None:
    """Names, dtypes and shapes, of which only the number of rows may differ."""
    if set(outputs) != set(expected):
        raise RowsDiffer(
            "form",
            f"{where}: expected outputs {sorted(expected)}, got {sorted(outputs)}",
            min(set(outputs) ^ set(expected)),
        )
    for name, got in outputs.items():
        wanted = (expected[name].dtype, (rows, *expected[name].shape[1:]))
        if (got.dtype, got.shape) != wanted:
            raise RowsDiffer(
                "form",
                f"{where}: output {name}: expected {wanted[0]} {wanted[1]}, "
                f"got {got.dtype} {got.shape}",
                name,
            )


def _short(row: Array) -> str:
    values = row.reshape(-1)
    more = ", ..." if len(values) > 3 else ""
    return f"[{', '.join(str(value) for value in values[:3])}{more}]"

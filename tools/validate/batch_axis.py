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

from ensemble.errors import CheckFailed

Item = TypeVar("Item")
Array = np.ndarray[Any, Any]
Outputs = Mapping[str, Array]
"""Output name to its rows, one an item."""
Send = Callable[[Sequence[Sequence[Item]]], Sequence[Outputs]]
"""Requests, each a list of items, to send at once; their outputs, in the order of the requests."""

SIZES = (1, 2, 3, 7, 64)


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
) -> None:
    """Compare every relation at every size.

    Args:
        send: asks for several requests at once.
        items: what to ask about; no two may have the same answer, or a swap would not be seen.
        rng: chooses items, orders and company.
        sizes: how many items at a time; the last should be the largest batch.
        tolerances: for the outputs that need not be equal to the last bit.

    Raises:
        CheckFailed: the relation, the output and the row that break, expected and got.
    """
    reference = _Reference.ask(send, items, tolerances)
    for size in sizes:
        chosen = _choose(rng, len(items), size)
        for relation, requests in _relations(rng, chosen, len(items)):
            answers = send([[items[i] for i in request] for request in requests])
            if len(answers) != len(requests):
                raise CheckFailed(
                    f"{relation}, {size} items: expected {len(requests)} responses, "
                    f"got {len(answers)}"
                )
            for request, outputs in zip(requests, answers, strict=True):
                reference.compare(f"{relation}, {size} items", request, outputs)


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
    return np.concatenate(rounds)[:size]


def _shuffled(rng: np.random.Generator, chosen: Array) -> Array:
    order = rng.permutation(len(chosen))
    return chosen[::-1] if (order == np.arange(len(chosen))).all() else chosen[order]


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
        rows = {name: np.concatenate([a[name] for a in answers]) for name in first}
        reference = cls(rows, tolerances)
        for n in range(len(items)):
            for twin in reference.items_like({name: row[n] for name, row in rows.items()}):
                if twin != n:
                    raise CheckFailed(
                        f"alone: expected another answer for each item, got the same for {n} "
                        f"and {twin}; nobody would see them swapped"
                    )
        return reference

    def compare(self, where: str, request: Array, outputs: Outputs) -> None:
        """Raise CheckFailed unless ``outputs`` are the rows of ``request``'s items."""
        _same_form(where, self.rows, outputs, rows=len(request))
        for name, got in outputs.items():
            expected = self.rows[name][request]
            equal = self._close(name, got, expected).reshape(len(request), -1).all(axis=1)
            if not equal.all():
                row = int(np.argmin(equal))
                raise CheckFailed(
                    f"{where}: output {name}, row {row} of {len(request)} (item {request[row]}): "
                    f"expected {_short(expected[row])}, got {_short(got[row])}"
                    f"{self._explain(name, got[row], expected[row])}"
                )

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
        raise CheckFailed(f"{where}: expected outputs {sorted(expected)}, got {sorted(outputs)}")
    for name, got in outputs.items():
        wanted = (expected[name].dtype, (rows, *expected[name].shape[1:]))
        if (got.dtype, got.shape) != wanted:
            raise CheckFailed(
                f"{where}: output {name}: expected {wanted[0]} {wanted[1]}, "
                f"got {got.dtype} {got.shape}"
            )


def _short(row: Array) -> str:
    values = row.reshape(-1)
    more = ", ..." if len(values) > 3 else ""
    return f"[{', '.join(str(value) for value in values[:3])}{more}]"

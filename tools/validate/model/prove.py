"""Runs a model alone, in company, permuted, and compares."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tools.validate.findings import Rule
from tools.validate.model import memory
from tools.validate.model.compare import (
    Noise,
    answers_flipped,
    distance,
    largest,
    origin,
)
from tools.validate.model.inputs import Recipe, make_items, recipes
from tools.validate.model.session import Array, Feeds, Refused, Session, stack
from tools.validate.rules import onnx as rules

ITEMS = 7
SEED = 20240229
# Of items: each size of batch, each item first, last and between others, in and out of order.
ORDERS = ((0, 1), (2, 0, 1), (4, 0, 6), (0, 1, 2, 3, 4, 5, 6), (5, 3, 6, 0, 2, 4, 1))
# So long may the largest batch take; it is made smaller where it would take longer.
LARGEST_RUN_S = 1.0

Say = Callable[[str], None]
Rows = list[dict[str, Array]]


class NothingFits(Exception):
    """No made-up input was taken; the message is ONNX Runtime's.

    Attributes:
        items: that were tried first.
    """

    def __init__(self, words: str, items: Sequence[Feeds]) -> None:
        super().__init__(words)
        self.items = items


@dataclass(frozen=True)
class Fault:
    """Something wrong with an output, or with a whole run.

    Attributes:
        rule: which one is broken.
        output: its name; empty for a run that was refused.
        order: the items of the batch in which it was first seen.
        message: what was seen.
        gap: how far an answer was off, where that was measured.
    """

    rule: Rule
    output: str
    order: tuple[int, ...]
    message: str
    gap: float = 0.0


@dataclass
class Proof:
    """What a model did.

    Attributes:
        items: the single items.
        noise: the bound.
        faults: at most one for each output, and one for a refusal.
        sizes: batch sizes that ran.
        largest_difference: among answers that agree, as part of the largest value.
        largest_bound: the bound that it was held against, likewise.
        costs: memory and time of an item.
        shapes: of each output for one item.
        indifferent: all items have the same answer.
    """

    items: Sequence[Feeds]
    noise: Noise
    faults: list[Fault] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    largest_difference: float = 0.0
    largest_bound: float = 0.0
    costs: str = ""
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    indifferent: bool = False


class Prover:
    """One model, loaded, with its items and its answers to each of them alone."""

    def __init__(
        self, session: Session, depth: int, sizes: dict[str, tuple[int, ...]], say: Say
    ) -> None:
        """Finds inputs that the model takes.

        Args:
            session: the model.
            depth: nodes on its longest path.
            sizes: input name to its configured dimensions, where some are.
            say: told what is about to run.

        Raises:
            NothingFits: it takes none.
            Refused: one item needs more memory than there is.
        """
        self._session, self._say = session, say
        self._items, self._alone = self._start(sizes)
        self._proof = Proof(self._items, Noise(depth, {}))
        first = self._alone[0]
        self._proof.indifferent = all(
            distance(first[name], other[name]) == 0 for other in self._alone for name in first
        )
        self._proof.shapes = {name: a.shape for name, a in first.items()}

    def _start(self, sizes: dict[str, tuple[int, ...]]) -> tuple[Rows, Rows]:
        words = ""
        for recipe in recipes(self._session.inputs, sizes):
            self._say("one item alone")
            try:
                return self._answered(recipe)
            except Refused as refused:
                if refused.is_memory:
                    raise
                words = words or str(refused)
        raise NothingFits(words, self._make(next(recipes(self._session.inputs, sizes))))

    def _answered(self, recipe: Recipe) -> tuple[Rows, Rows]:
        """Items and answers; of positive numbers if others give NaN or infinity."""
        items = self._make(recipe)
        answers = [self._session.run(item) for item in items]
        if recipe.positive or not any(map(_is_broken, _values(answers))):
            return items, answers
        again = self._answered(replace(recipe, positive=True))
        return (items, answers) if any(map(_is_broken, _values(again[1]))) else again

    def _make(self, recipe: Recipe) -> Rows:
        return make_items(self._session.inputs, recipe, ITEMS, np.random.default_rng(SEED))

    def prove(self, most: int, allowed_bytes: int) -> Proof:
        """Runs everything.

        Args:
            most: the largest batch that is wanted; 0 for a model that need not batch, of which
                only the numbers are looked at.
            allowed_bytes: of memory, for this process.
        """
        if not most:
            self._finite_alone()
        elif self._repeats() and self._finite_alone():
            self._counts_alone()
            size = min(most, self._affordable((0,), allowed_bytes, most))
            orders = [(0,), *(order for order in ORDERS if len(order) <= size)]
            self._in_company(orders[1:])
            if not self._proof.faults and size > len(orders[-1]):
                size = self._affordable(orders[-1], allowed_bytes, most)
                order = np.random.default_rng(SEED).integers(0, ITEMS, size)
                is_larger = size > len(orders[-1])
                self._in_company([tuple(int(item) for item in order)] if is_larger else [])
        return self._proof

    def _repeats(self) -> bool:
        """Whether one item has one answer; also how far a least change of it moves the answer."""
        self._say("one item again")
        first, item = self._alone[0], self._items[0]
        again = self._session.run(item)
        moved = self._session.run({name: _nudged(value) for name, value in item.items()})
        self._proof.noise.sensitivity.update(
            {name: d for name in first if np.isfinite(d := distance(first[name], moved[name]))}
        )
        for name, value in first.items():
            gap = distance(value, again[name])
            if gap > Noise(self._proof.noise.depth, {}).bound(name, [value]):
                self._blame(rules.RANDOM, name, (0,), f"two runs on one item differ by {gap:.3g}")
        return not self._proof.faults

    def _finite_alone(self) -> bool:
        for item, answers in enumerate(self._alone):
            for name, value in answers.items():
                if _is_broken(value):
                    self._blame(rules.NOT_FINITE, name, (item,), f"{_broken(value)} for one item")
        return not self._proof.faults

    def _counts_alone(self) -> None:
        for name, value in self._alone[0].items():
            if value.ndim == 0 or len(value) != 1:
                got = f"{list(value.shape)}, expected one row"
                self._blame(rules.ROW_COUNT, name, (0,), f"for one item its shape is {got}")
        self._proof.sizes.append(1)

    def _in_company(self, orders: Sequence[tuple[int, ...]]) -> None:
        for order in orders:
            self._say(f"a batch of {len(order)}")
            try:
                outputs = self._session.run(stack(self._items, order))
            except Refused as refused:
                if refused.is_memory:
                    return
                message = f"runs at batch 1 and not at {len(order)}: {refused}"
                self._blame(rules.BATCH_REFUSED, "", order, message)
                return
            for name, value in outputs.items():
                self._compare(name, value, order)
            if len(order) not in self._proof.sizes:
                self._proof.sizes.append(len(order))

    def _compare(self, name: str, batch: Array, order: tuple[int, ...]) -> None:
        alone = [answers[name] for answers in self._alone]
        bound = self._proof.noise.bound(name, alone)
        shaped = _shape_fault(batch, alone[order[0]], len(order))
        if shaped:
            return self._blame(shaped[0], name, order, shaped[1])
        if _is_broken(batch):
            text = f"{_broken(batch)} in a batch of {len(order)}, numbers for each item alone"
            return self._blame(rules.NOT_FINITE, name, order, text)
        gap = max(distance(batch[i : i + 1], alone[item]) for i, item in enumerate(order))
        if gap <= bound:
            return self._agrees(gap, bound, largest(alone))
        found = origin(batch, alone, order, bound)
        if sorted(found) == sorted(order):
            rows = ", ".join(str(order.index(item)) for item in found)
            text = f"in a batch of {len(order)} its rows belong to the items {rows}"
            return self._blame(rules.ROW_ORDER, name, order, text)
        text = (
            f"in a batch of {len(order)} an answer is off by {gap:.3g}; noise is below {bound:.2g}"
        )
        if batch.ndim == 2 and batch.shape[1] > 1 and batch.dtype.kind == "f":
            text += f"; top-1 changes for {answers_flipped(batch, alone, order)} of {len(order)}"
        return self._blame(rules.LEAK, name, order, text, gap)

    def _agrees(self, gap: float, bound: float, scale: float) -> None:
        proof = self._proof
        if scale:
            proof.largest_difference = max(proof.largest_difference, gap / scale)
            proof.largest_bound = max(proof.largest_bound, bound / scale)

    def _blame(
        self, rule: Rule, output: str, order: tuple[int, ...], message: str, gap: float = 0.0
    ) -> None:
        """Keeps the first fault of an output; of a leak the batch that shows it most is told."""
        faults = self._proof.faults
        for number, fault in enumerate(faults):
            if fault.output == output:
                if fault.rule is rule and gap > fault.gap:
                    faults[number] = replace(fault, message=message, gap=gap)
                return
        faults.append(Fault(rule, output, order, message, gap))

    def _affordable(self, order: tuple[int, ...], allowed_bytes: int, most: int) -> int:
        """The largest batch, up to ``most``, that memory and time allow, judged by one run."""
        batch, started_s = stack(self._items, order), time.monotonic()
        needed = memory.growth_bytes(lambda: self._session.run(batch)) / len(order)
        took_s = (time.monotonic() - started_s) / len(order)
        needed += sum(value.nbytes for value in self._items[0].values())
        free = allowed_bytes - memory.SPARE_BYTES - memory.resident_bytes()
        self._proof.costs = f"{needed / 1e6:.1f} MB and {took_s * 1000:.0f} ms an item"
        return max(2, min(most, int(free / max(1.0, 1.2 * needed)), int(LARGEST_RUN_S / took_s)))


def batch_that_runs(session: Session, items: Sequence[Feeds]) -> int:
    """A size at which the model runs although it refuses one item; 0 if there is none."""
    for size in (2, 3, 4, 7, 8, 16, 32):
        with contextlib.suppress(Refused):
            session.run(stack(items, [i % len(items) for i in range(size)]))
            return size
    return 0


def _nudged(value: Array) -> Array:
    """Each number moved by one unit in its last place."""
    return np.nextafter(value, np.inf, dtype=value.dtype) if value.dtype.kind == "f" else value


def _shape_fault(batch: Array, alone: Array, rows: int) -> tuple[Rule, str] | None:
    got = f"its shape is {list(batch.shape)}, for one item {list(alone.shape)}"
    if batch.ndim == 0 or len(batch) != rows:
        return rules.ROW_COUNT, f"in a batch of {rows} {got}; expected {rows} rows"
    if batch.dtype != alone.dtype or batch.shape[1:] != alone.shape[1:]:
        return rules.SHAPE_FOLLOWS_BATCH, f"in a batch of {rows} {got}"
    return None


def _values(rows: Rows) -> Iterator[Array]:
    return (value for row in rows for value in row.values())


def _is_broken(value: Array) -> bool:
    return value.dtype.kind == "f" and not np.isfinite(value).all()


def _broken(value: Array) -> str:
    return "NaN" if np.isnan(value).any() else "infinity"

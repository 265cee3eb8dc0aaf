"""Logits to the best classes and their probabilities, a whole batch in one go."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def softmax(logits: Array) -> Array:
    """Probabilities, (batch, classes) float32, rows sum to 1; finite for any finite logits."""
    powers: Array = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.divide(powers, powers.sum(axis=1, keepdims=True))


def top_k(logits: Array, k: int) -> tuple[Array, Array]:
    """The ``k`` best classes of each row, best first; equal logits in the order of class numbers.

    Args:
        logits: (batch, classes) float32, finite.
        k: 1 to classes.

    Returns:
        Class numbers (batch, k) int32 and probabilities (batch, k) float32.
    """
    order = _best(logits, k)
    scores = np.take_along_axis(softmax(logits), order, axis=1)
    return order.astype(np.int32), scores.astype(np.float32)


def _best(logits: Array, k: int) -> Array:
    """Columns of the ``k`` greatest of each row, (batch, k), greatest first.

    Sorting all classes would take most of the stage's time, so only the best are sorted; where
    several are equally good for the last place, which of them are taken needs the whole row.
    """
    best = np.sort(np.argpartition(logits, -k, axis=1)[:, -k:], axis=1)
    values = np.take_along_axis(logits, best, axis=1)
    tied = np.count_nonzero(logits >= values.min(axis=1, keepdims=True), axis=1) > k
    order: Array = np.take_along_axis(best, np.argsort(-values, axis=1, kind="stable"), axis=1)
    order[tied] = np.argsort(-logits[tied], axis=1, kind="stable")[:, :k]
    return order

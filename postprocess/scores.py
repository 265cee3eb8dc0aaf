"""Logits to the best classes and their probabilities, a whole batch in one go."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def top_k(logits: Array, k: int) -> tuple[Array, Array]:
    """The ``k`` best classes of each row and their softmax probabilities, best first.

    Equal logits come in the order of class numbers. The stage runs with cold caches, behind a
    classifier, so what it costs is the code it touches: few calls, none of numpy's Python ones.

    Args:
        logits: (batch, classes) float32, finite.
        k: 1 to classes.

    Returns:
        Class numbers (batch, k) int32 and probabilities (batch, k) float32, finite for any finite
        logits.
    """
    row = np.arange(len(logits))[:, None]
    best = _best(logits, k, row)
    powers = np.exp(logits - logits[row, best[:, :1]])
    scores = powers[row, best] / powers.sum(axis=1, keepdims=True)
    return best.astype(np.int32), scores


def _best(logits: Array, k: int, row: Array) -> Array:
    """Columns of the ``k`` greatest of each row, (batch, k), greatest first.

    Sorting all classes would take most of the stage's time, so only the best are sorted; where
    several are equally good for the last place, which of them are taken needs the whole row.
    """
    best = logits.argpartition(-k, axis=1)[:, -k:]
    best.sort(axis=1)
    values = logits[row, best]
    order: Array = best[row, (-values).argsort(axis=1, kind="stable")]
    tied = (logits >= values.min(axis=1, keepdims=True)).sum(axis=1) > k
    if tied.any():
        order[tied] = (-logits[tied]).argsort(axis=1, kind="stable")[:, :k]
    return order

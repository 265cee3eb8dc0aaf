"""Logits to the best classes and their scores, a whole batch in one go."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ensemble.errors import ContractMismatch
from ensemble.tensors import NUMPY_NAMES

Array = np.ndarray[Any, Any]
Ranking = Callable[[Array, int], tuple[Array, Array]]
"""Finite logits (batch, classes) and k to class numbers (batch, k) int32 and scores (batch, k)
float32, best first."""


def ranking(kind: str, data_type: str) -> Ranking:
    """How the logits of a classifier are ranked and scored.

    Args:
        kind: ``softmax``; ``sigmoid``, each class by itself; or ``none``, the model's own numbers.
        data_type: of the logits, in Triton's words.

    Raises:
        ContractMismatch: another kind or type.
    """
    if kind not in _SCORES or data_type not in NUMPY_NAMES:
        raise ContractMismatch(
            f"scores: expected {tuple(_SCORES)} of {tuple(NUMPY_NAMES)}, got {kind} of {data_type}"
        )
    rank = _SCORES[kind]
    return rank if data_type == "TYPE_FP32" else partial(_widened, rank)


def _widened(rank: Ranking, logits: Array, k: int) -> tuple[Array, Array]:
    return rank(logits.astype(np.float32), k)


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


def top_k_sigmoid(logits: Array, k: int) -> tuple[Array, Array]:
    """The same with the sigmoid of each logit by itself: an image may have several labels."""
    best, chosen = top_k_as_they_are(logits, k)
    # Of -|x|, so that nothing overflows; 1 - s(-x) would lose the small ones.
    power = np.exp(-np.abs(chosen))
    return best, np.where(chosen < 0, power, np.float32(1.0)) / (1 + power)


def top_k_as_they_are(scores: Array, k: int) -> tuple[Array, Array]:
    """The same with the numbers of a model that ends in softmax or sigmoid itself."""
    row = np.arange(len(scores))[:, None]
    best = _best(scores, k, row)
    return best.astype(np.int32), scores[row, best]


_SCORES: dict[str, Ranking] = {
    "softmax": top_k,
    "sigmoid": top_k_sigmoid,
    "none": top_k_as_they_are,
}


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

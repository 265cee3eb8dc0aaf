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
    order = np.argsort(-logits, axis=1, kind="stable")[:, :k]
    scores = np.take_along_axis(softmax(logits), order, axis=1)
    return order.astype(np.int32), scores.astype(np.float32)

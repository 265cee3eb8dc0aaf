"""One execution of the last stage: logits of all requests in, their answers out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ensemble.adapter import split_rows
from ensemble.errors import InvalidInput, ServingError
from postprocess.scores import Ranking, top_k

Array = np.ndarray[Any, Any]


class Answerer:
    """Names the best classes.

    Attributes:
        labels: (classes,) object, UTF-8 bytes.
        k: how many classes an answer holds.
    """

    def __init__(self, labels: Array, k: int, rank: Ranking = top_k) -> None:
        self.labels = labels
        self.k = k
        self._rank = rank

    def __call__(self, logits: Sequence[Array]) -> list[dict[str, Array] | ServingError]:
        """Answers, or the reason why not, one a request.

        Args:
            logits: (images, classes) of the dtype that ``rank`` takes, one array a request.
        """
        rows = np.concatenate(logits)
        finite = np.isfinite(rows).all(axis=1)
        rows[~finite] = 0.0
        class_ids, scores = self._rank(rows, self.k)
        sizes = [len(array) for array in logits]
        split = (split_rows(array, sizes) for array in (finite, class_ids, scores))
        return [self._answer(*answer) for answer in zip(*split, strict=True)]

    def _answer(
        self, finite: Array, class_ids: Array, scores: Array
    ) -> dict[str, Array] | ServingError:
        if not finite.all():
            return InvalidInput(
                f"image {int(np.argmin(finite)) + 1} of {len(finite)}: expected finite LOGITS, "
                "got NaN or infinity"
            )
        return {"CLASS_ID": class_ids, "SCORE": scores, "LABEL": self.labels[class_ids]}

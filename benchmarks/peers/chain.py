"""The work that every peer's server does, so that only the serving differs.

It runs in the peers' own environments: numpy, OpenCV and ONNX Runtime are all that it may import.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "model_repository"
SETTINGS = "PEER_SETTINGS"
SHORTER, CROP, BEST = 256, 224, 5
MEAN, STD = 127.0, 128.0


def settings() -> dict[str, Any]:
    """The server's settings, of ``benchmarks.peers.catalogue``, from its environment."""
    values: dict[str, Any] = json.loads(os.environ[SETTINGS])
    return values


class Chain:
    """Encoded photographs to the best classes, as ``ensemble.transform.Transform()`` declares it.

    OpenCV runs in the caller's thread and ONNX Runtime in as many as it is given; neither spins.
    """

    def __init__(self, threads: int = 1, reduced: bool = False) -> None:
        """Args: threads: of ONNX Runtime. reduced: have the JPEG decoder shrink, see ``_flag``."""
        cv2.setNumThreads(0)
        self._reduced = reduced
        self._labels = (MODELS / "postprocess/1/labels.txt").read_text("utf-8").splitlines()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(MODELS / "classifier/1/model.onnx"), options, ["CPUExecutionProvider"]
        )

    def __call__(self, encoded: Sequence[bytes]) -> list[dict[str, list[Any]]]:
        """Classes, scores and labels of each photograph, best first, ready for JSON."""
        return self.best(self.logits(np.concatenate([self.pixels(one) for one in encoded])))

    def pixels(self, encoded: bytes) -> Array:
        """Of one photograph: (1, 3, 224, 224) float32."""
        data = np.frombuffer(encoded, np.uint8)
        picture = cv2.imdecode(data, self._flag(data))
        height, width = picture.shape[:2]
        scale = SHORTER / min(height, width)
        size = (round(width * scale), round(height * scale))
        kind = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        picture = cv2.resize(picture, size, interpolation=kind)
        top, left = (size[1] - CROP + 1) // 2, (size[0] - CROP + 1) // 2
        picture = picture[top : top + CROP, left : left + CROP]
        return np.asarray(
            cv2.dnn.blobFromImage(picture, 1 / STD, mean=(MEAN, MEAN, MEAN), swapRB=True)
        )

    def _flag(self, data: Array) -> int:
        """The smallest picture that the JPEG decoder itself makes and that has enough pixels.

        Few people write this, since OpenCV takes the divisor before anybody knows the size.
        """
        if not self._reduced:
            return cv2.IMREAD_COLOR
        shorter = min(_jpeg_size(data))
        fits = [d for d in (8, 4, 2) if shorter >= d * SHORTER]
        return int(getattr(cv2, f"IMREAD_REDUCED_COLOR_{fits[0]}")) if fits else cv2.IMREAD_COLOR

    def logits(self, pixels: Array) -> Array:
        """Of a batch: (batch, 1000) float32."""
        (rows,) = self._session.run(["LOGITS"], {"PIXELS": pixels})
        return np.asarray(rows)

    def best(self, logits: Array) -> list[dict[str, list[Any]]]:
        """See ``__call__``."""
        scores = np.exp(logits - logits.max(axis=1, keepdims=True))
        scores /= scores.sum(axis=1, keepdims=True)
        return [self._named(row) for row in scores]

    def _named(self, scores: Array) -> dict[str, list[Any]]:
        classes = np.argpartition(scores, -BEST)[-BEST:]
        classes = classes[np.argsort(-scores[classes])]
        return {
            "class_id": classes.tolist(),
            "score": scores[classes].tolist(),
            "label": [self._labels[one] for one in classes],
        }


def _jpeg_size(data: Array) -> tuple[int, int]:
    """Height and width in the frame header of a JPEG."""
    at = 2
    while not 0xC0 <= data[at + 1] <= 0xC3:
        at += 2 + int(data[at + 2]) * 256 + int(data[at + 3])
    height, width = (int(data[at + n]) * 256 + int(data[at + n + 1]) for n in (5, 7))
    return height, width

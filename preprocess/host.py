"""Decoding and resizing on the CPU without DALI: OpenCV decodes, two matrix products resize.

It gives the levels that the DALI graph has before it normalises, in less than half of the time,
and image by image: one that can't be decoded concerns no other.
"""

from __future__ import annotations

import logging
from typing import Any

import cv2
import numpy as np

from ensemble.errors import BackendFailure, InvalidInput, ServingError
from ensemble.transform import Transform
from preprocess.headers import Header
from preprocess.picture import Picture, decode
from preprocess.resample import bands, resample

Array = np.ndarray[Any, Any]

log = logging.getLogger(__name__)


class HostDecoder:
    """Encoded images to whole levels of the transform's crop, before mean and std."""

    def __init__(self, transform: Transform) -> None:
        self._transform = transform
        cv2.setNumThreads(0)  # the stages share the cores

    def __call__(
        self, encoded: list[Array], headers: list[Header]
    ) -> tuple[Array, dict[int, ServingError]]:
        """Levels, (len(encoded), ...) uint8, and an error for each row that has none."""
        levels = np.empty((len(encoded), *self._transform.pixels_shape), np.uint8)
        errors: dict[int, ServingError] = {}
        for n, (data, header) in enumerate(zip(encoded, headers, strict=True)):
            try:
                self._crop(decode(data, header, self._transform), levels[n])
            except InvalidInput as error:
                errors[n] = error
            except (cv2.error, MemoryError):
                log.exception("an image of %d pixels", header.pixels)
                errors[n] = BackendFailure("the decoder ran out of memory")
        return levels, errors

    def _crop(self, picture: Picture, out: Array) -> None:
        """Write the crop to ``out``, in the transform's layout and order of channels."""
        rows, columns = bands(self._transform, picture.height, picture.width)
        turned = resample(picture.levels, rows, columns)
        if self._transform.colour == "BGR":
            turned = cv2.cvtColor(turned, cv2.COLOR_RGB2BGR)
        if self._transform.layout == "HWC":
            out[:] = cv2.transpose(turned)
        else:
            lines = cv2.transpose(turned.reshape(len(turned), -1))  # of each row, one a channel
            out[:] = lines.reshape(-1, 3, len(turned)).transpose(1, 0, 2)

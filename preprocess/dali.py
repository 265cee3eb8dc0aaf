"""Decoding and all that follows by DALI, on a GPU or with the same graph on the CPU.

DALI gives up a whole batch when one item can't be decoded, and that pipeline can't be used again;
so a failed batch is decoded again one by one in a fresh pipeline, and only the guilty image has an
error.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ensemble.errors import BackendFailure, ServingError
from ensemble.transform import Transform
from preprocess.device import host_array
from preprocess.exif import with_plain_exif
from preprocess.graph import build_decoder, build_pipeline
from preprocess.guard import trial_endings
from preprocess.headers import Header, undecodable

Array = np.ndarray[Any, Any]

log = logging.getLogger(__name__)

# Decoded pictures of one DALI run, so that 64 of the largest allowed can't take 10 GB.
# 64 million pixels are 190 MB as RGB; a usual batch (64 photographs of 1 megapixel) is one run.
MAX_RUN_PIXELS = 64_000_000

_OUR_FAULT = ("bad_alloc", "out of memory", "cudaError")


class DaliDecoder:
    """Encoded images to the transform's pixels, in runs of one pipeline."""

    def __init__(
        self,
        transform: Transform,
        batch_size: int,
        num_threads: int = 1,
        device_id: int | None = None,
    ) -> None:
        self._settings = (transform, batch_size, num_threads, device_id)
        self._pipeline = build_pipeline(*self._settings)
        self._last_error = ""

    def __call__(
        self, encoded: list[Array], headers: list[Header]
    ) -> tuple[Any, dict[int, ServingError]]:
        """Pixels of all images, (len(encoded), ...), and an error for each row that has none."""
        encoded = [with_plain_exif(*image) for image in zip(encoded, headers, strict=True)]
        runs = list(_runs(headers, self._settings[0]))
        if len(runs) == 1 and headers[0].complete:
            pixels = self._try(encoded)
            if pixels is not None:
                return pixels, {}
            runs = [range(n, n + 1) for n in runs[0]]
        rows: list[Array | ServingError] = []
        for run in runs:
            images, facts = [encoded[n] for n in run], [headers[n] for n in run]
            if facts[0].complete:
                rows += self._decode_run(images, facts)
            else:
                rows.append(self._decode_open_ended(images[0], facts[0]))
        errors = {n: row for n, row in enumerate(rows) if isinstance(row, ServingError)}
        blank = next((np.zeros_like(row) for row in rows if isinstance(row, np.ndarray)), None)
        if blank is None:
            return None, errors
        return np.stack([blank if isinstance(r, ServingError) else r for r in rows]), errors

    def _decode_run(
        self, encoded: list[Array], headers: list[Header]
    ) -> list[Array | ServingError]:
        pixels = self._try(encoded)
        if pixels is not None:
            return list(np.copy(host_array(pixels)))
        if len(encoded) > 1:
            alone = (self._decode_run([e], [h]) for e, h in zip(encoded, headers, strict=True))
            return [row for rows in alone for row in rows]
        if any(words in self._last_error for words in _OUR_FAULT):
            return [BackendFailure("the decoder ran out of memory or lost its device")]
        return [undecodable(headers[0])]

    def _decode_open_ended(self, image: Array, header: Header) -> Array | ServingError:
        """Pixels of an image without its end marker, if none of it comes from beyond its end."""
        endings = trial_endings(image, header)
        decoder = build_decoder(batch_size=len(endings))
        decoder.feed_input("IMAGE", list(endings))
        try:
            (pictures,) = decoder.run()
        except RuntimeError:
            return undecodable(header)
        if not np.array_equal(pictures.at(0), pictures.at(1)):
            return undecodable(header)
        return self._decode_run([endings[0]], [header])[0]

    def _try(self, encoded: list[Array]) -> Any | None:
        """Pixels of one run, valid until the next; None when an item can't be decoded."""
        self._pipeline.feed_input("IMAGE", encoded)
        try:
            return self._pipeline.run()[0].as_tensor()
        except RuntimeError as error:
            log.warning("DALI gave up a run of %d images: %s", len(encoded), error)
            self._last_error = str(error)
            self._pipeline = build_pipeline(*self._settings)
            return None


def _runs(headers: Sequence[Header], transform: Transform) -> Iterator[range]:
    """Neighbouring images whose pictures, decoded or resized, fit one run.

    An incomplete file runs alone.
    """
    start, pixels = 0, 0
    for n, header in enumerate(headers):
        alone = not header.complete or (n > start and not headers[n - 1].complete)
        height, width = transform.resized(header.height, header.width)
        larger = max(header.pixels, height * width)
        if n > start and (alone or pixels + larger > MAX_RUN_PIXELS):
            yield range(start, n)
            start, pixels = n, 0
        pixels += larger
    if headers:
        yield range(start, len(headers))

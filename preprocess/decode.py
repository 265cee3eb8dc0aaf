"""One execution of the first stage: the images of all requests in, their pixels out.

Every image is judged from its header before DALI sees it. DALI gives up a whole batch when one
item can't be decoded, and that pipeline can't be used again; so a failed batch is decoded again
one by one in a fresh pipeline, and only the guilty request hears of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ensemble.errors import BackendFailure, InvalidInput, ServingError
from ensemble.model_config import LARGEST_IN_REQUEST
from ensemble.transform import Transform
from preprocess.device import host_array, rows_of
from preprocess.graph import build_decoder, build_pipeline
from preprocess.guard import Header, Limits, inspect, trial_endings

Array = np.ndarray[Any, Any]

log = logging.getLogger(__name__)

# Decoded pictures of one DALI run, so that 64 of the largest allowed can't take 10 GB.
# 64 million pixels are 190 MB as RGB; a usual batch (64 photographs of 1 megapixel) is one run.
MAX_RUN_PIXELS = 64_000_000

_OUR_FAULT = ("bad_alloc", "out of memory", "cudaError")


class Preprocessor:
    """Encoded images to PIXELS, batched.

    Attributes:
        limits: what an image may be, judged from its header.
    """

    def __init__(
        self,
        transform: Transform,
        limits: Limits,
        batch_size: int,
        num_threads: int = 1,
        device_id: int | None = None,
    ) -> None:
        self.limits = limits
        self._settings = (transform, batch_size, num_threads, device_id)
        self._pipeline = build_pipeline(*self._settings)
        self._last_error = ""

    def __call__(self, requests: Sequence[Array]) -> list[dict[str, Any] | ServingError]:
        """PIXELS, or the reason why not, one a request.

        Args:
            requests: (images, bytes) uint8, one array a request; rows of a request that are
                shorter than the longest end in zeros.

        Returns:
            ``{"PIXELS": (images, *pixels_shape)}`` of the transform's dtype, on the host, or on the
            device when the graph runs there; or InvalidInput naming the image.
        """
        judged = [self._judge(images) for images in requests]
        good = [i for i, verdict in enumerate(judged) if not isinstance(verdict, ServingError)]
        results: list[Any] = list(judged)
        headers = [header for i in good for header in judged[i]]  # type: ignore[union-attr]
        images = (image for i in good for image in requests[i])
        encoded = [image[: header.end] for image, header in zip(images, headers, strict=True)]
        pixels, errors = self._decode(encoded, headers)
        start = 0
        for i in good:
            stop = start + len(requests[i])
            bad = next((n for n in range(start, stop) if n in errors), None)
            if bad is None:
                results[i] = {"PIXELS": rows_of(pixels, start, stop)}
            else:
                results[i] = _named(errors[bad], bad - start, stop - start)
            start = stop
        return results

    def _judge(self, images: Array) -> list[Header] | ServingError:
        headers = []
        for number, image in enumerate(images):
            try:
                headers.append(inspect(image, self.limits))
            except InvalidInput as error:
                return _named(error, number, len(images))
        pixels, most = sum(h.pixels for h in headers), LARGEST_IN_REQUEST * self.limits.max_pixels
        if pixels > most:
            return InvalidInput(
                f"{len(headers)} images are too large: expected at most {most} pixels together, "
                f"got {pixels}"
            )
        return headers

    def _decode(
        self, encoded: list[Array], headers: list[Header]
    ) -> tuple[Any, dict[int, ServingError]]:
        """Pixels of all images, (len(encoded), ...), and an error for each row that has none."""
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
        return [_undecodable(headers[0])]

    def _decode_open_ended(self, image: Array, header: Header) -> Array | ServingError:
        """Pixels of an image without its end marker, if none of it comes from beyond its end."""
        endings = trial_endings(image, header)
        decoder = build_decoder(batch_size=len(endings))
        decoder.feed_input("IMAGE", list(endings))
        try:
            (pictures,) = decoder.run()
        except RuntimeError:
            return _undecodable(header)
        if not np.array_equal(pictures.at(0), pictures.at(1)):
            return _undecodable(header)
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


def _named(error: ServingError, number: int, count: int) -> ServingError:
    where = f"image {number + 1} of {count}: " if count > 1 else ""
    return type(error)(f"{where}{error}")


def _undecodable(header: Header) -> InvalidInput:
    return InvalidInput(
        f"expected a whole {header.format} of {header.width} x {header.height} pixels, "
        "got data that is damaged or cut short"
    )

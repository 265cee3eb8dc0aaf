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
from ensemble.transform import Transform
from preprocess.device import host_array, rows_of
from preprocess.graph import build_decoder, build_pipeline
from preprocess.guard import Header, Limits, inspect, trial_endings

Array = np.ndarray[Any, Any]

log = logging.getLogger(__name__)

# Decoded pictures of one DALI run, so that 64 of the largest allowed can't take 10 GB.
# 64 million pixels are 190 MB as RGB; a usual batch (64 photographs of 1 megapixel) is one run.
MAX_RUN_PIXELS = 64_000_000

_OUR_FAULT = ("memory", "bad_alloc", "CUDA", "cuda")


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

    def __call__(self, requests: Sequence[Array]) -> list[dict[str, Any] | ServingError]:
        """PIXELS, or the reason why not, one a request.

        Args:
            requests: (images, bytes) uint8, one array a request; rows of a request that are
                shorter than the longest end in zeros.

        Returns:
            ``{"PIXELS": (images, 3, height, width) float32}`` on the host, or on the device when
            the graph runs there; or InvalidInput naming the image.
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
        return headers

    def _decode(
        self, encoded: list[Array], headers: list[Header]
    ) -> tuple[Any, dict[int, ServingError]]:
        """Pixels of all images, (len(encoded), ...), and an error for each row that has none."""
        runs = list(_runs(headers))
        if len(runs) == 1 and headers[0].complete:
            pixels = self._try(encoded)
            if pixels is not None:
                return pixels, {}
            runs = [range(n, n + 1) for n in runs[0]]
        rows: list[Array | None] = []
        for run in runs:
            if headers[run[0]].complete:
                rows += self._decode_run([encoded[n] for n in run])
            else:
                rows.append(self._decode_open_ended(encoded[run[0]], headers[run[0]]))
        errors: dict[int, ServingError] = {
            n: _undecodable(headers[n]) for n, row in enumerate(rows) if row is None
        }
        blank = next((np.zeros_like(row) for row in rows if row is not None), None)
        if blank is None:
            return None, errors
        return np.stack([blank if row is None else row for row in rows]), errors

    def _decode_run(self, encoded: list[Array]) -> list[Array | None]:
        pixels = self._try(encoded)
        if pixels is not None:
            return list(np.copy(host_array(pixels)))
        if len(encoded) == 1:
            return [None]
        return [row for image in encoded for row in self._decode_run([image])]

    def _decode_open_ended(self, image: Array, header: Header) -> Array | None:
        """Pixels of an image without its end marker, if none of it comes from beyond its end."""
        endings = trial_endings(image, header)
        decoder = build_decoder(batch_size=len(endings))
        decoder.feed_input("IMAGE", list(endings))
        try:
            (pictures,) = decoder.run()
        except RuntimeError:
            return None
        if not np.array_equal(pictures.at(0), pictures.at(1)):
            return None
        return self._decode_run([endings[0]])[0]

    def _try(self, encoded: list[Array]) -> Any | None:
        """Pixels of one run, valid until the next; None when an item can't be decoded."""
        self._pipeline.feed_input("IMAGE", encoded)
        try:
            return self._pipeline.run()[0].as_tensor()
        except RuntimeError as error:
            log.warning("DALI gave up a run of %d images: %s", len(encoded), error)
            self._pipeline = build_pipeline(*self._settings)
            if any(word in str(error) for word in _OUR_FAULT):
                raise BackendFailure(f"DALI: {error}") from error
            return None


def _runs(headers: Sequence[Header]) -> Iterator[range]:
    """Neighbouring images whose decoded size fits one run; an incomplete file runs alone."""
    start, pixels = 0, 0
    for n, header in enumerate(headers):
        alone = not header.complete or (n > start and not headers[n - 1].complete)
        if n > start and (alone or pixels + header.pixels > MAX_RUN_PIXELS):
            yield range(start, n)
            start, pixels = n, 0
        pixels += header.pixels
    if headers:
        yield range(start, len(headers))


def _named(error: ServingError, number: int, count: int) -> ServingError:
    where = f"image {number} of {count}: " if count > 1 else ""
    return type(error)(f"{where}{error}")


def _undecodable(header: Header) -> InvalidInput:
    return InvalidInput(
        f"expected a whole {header.format} of {header.width} x {header.height} pixels, "
        "got data that is damaged or cut short"
    )

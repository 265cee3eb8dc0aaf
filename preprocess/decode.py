"""One execution of the first stage: the images of all requests in, their pixels out.

Every image is judged from its header before a decoder sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ensemble.errors import InvalidInput, ServingError
from ensemble.model_config import LARGEST_IN_REQUEST
from ensemble.transform import Transform
from preprocess.device import rows_of
from preprocess.guard import Header, Limits, inspect

Array = np.ndarray[Any, Any]
Decoder = Callable[[list[Array], list[Header]], tuple[Any, dict[int, ServingError]]]
"""Encoded images that were judged, and their headers, in; one row an image out, and an error for
each row that has no pixels."""


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
        as_levels: bool = False,
    ) -> None:
        """A stage.

        Args:
            transform: what becomes of a picture.
            limits: what an image may be.
            batch_size: the most images of one run of DALI.
            num_threads: of DALI.
            device_id: the GPU that DALI runs on; None for the CPU.
            as_levels: give whole levels, not normalised, and decode without DALI.
        """
        self.limits = limits
        self._decode: Decoder
        if as_levels:
            from preprocess.host import HostDecoder  # needs OpenCV, which the serving image lacks

            self._decode = HostDecoder(transform)
        else:
            from preprocess.dali import DaliDecoder  # takes a second and 200 MB to import

            self._decode = DaliDecoder(transform, batch_size, num_threads, device_id)

    def __call__(self, requests: Sequence[Array]) -> list[dict[str, Any] | ServingError]:
        """PIXELS, or the reason why not, one a request.

        Args:
            requests: (images, bytes) uint8, one array a request; rows of a request that are
                shorter than the longest end in zeros.

        Returns:
            ``{"PIXELS": (images, *pixels_shape)}`` of the transform's dtype, or uint8 for levels,
            on the host, or on the device when DALI runs there; or InvalidInput naming the image.
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


def _named(error: ServingError, number: int, count: int) -> ServingError:
    where = f"image {number + 1} of {count}: " if count > 1 else ""
    return type(error)(f"{where}{error}")

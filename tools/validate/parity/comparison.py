"""One picture from both sides: what the server feeds, what training feeds, how far apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from classifier.normalise import normalise
from ensemble.errors import ServingError
from ensemble.transform import Transform
from preprocess.decode import Preprocessor
from preprocess.guard import Limits
from tools.validate.findings import Finding, Rule
from tools.validate.parity.pictures import Picture
from tools.validate.parity.recipe import Recipe
from tools.validate.parity.references import Pixels
from tools.validate.rules import preprocessing as rules

Array = np.ndarray[Any, Any]

BATCH_SIZE = 16


@dataclass(frozen=True)
class ParityRequest:
    """What to compare.

    Attributes:
        transform: the one that the server applies.
        reference: a key of ``references.REFERENCES``, or an ``.npz`` with one array an image name.
        images: files, or folders of them.
        report: HTML file to write; None for none.
        training: the transform that the reference stands for; None: ``transform``, in the colour
            order of the reference's framework.
        source: the file that declares ``transform``, for the findings.
        as_levels: the server's ``preprocess`` gives whole levels, made without DALI.
    """

    transform: Transform
    reference: str
    images: Sequence[Path] = ()
    report: Path | None = None
    training: Transform | None = None
    source: Path = Path("transform.json")
    as_levels: bool = False


@dataclass(frozen=True)
class Compared:
    """One picture, from both sides.

    Attributes:
        picture: the image.
        ours: what the server feeds, (3, height, width) or (height, width, 3) float32.
        reference: what training feeds, of the same shape.
        mean: of the absolute difference, levels of 0..255.
        p99: 99th percentile of it, levels.
        largest: greatest of it, levels.
        explained: what was found; empty where the pictures agree.
    """

    picture: Picture
    ours: Array
    reference: Array
    mean: float
    p99: float
    largest: float
    explained: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.mean <= self.picture.tolerance_levels


@dataclass(frozen=True)
class ParityResult:
    """What came out.

    Attributes:
        findings: one a cause.
        pictures: each picture that was compared, in order.
    """

    findings: tuple[Finding, ...]
    pictures: tuple[Compared, ...]


def served(
    pictures: Sequence[Picture], transform: Transform, as_levels: bool = False
) -> Iterator[Array | ServingError]:
    """What the server's preprocessing feeds for each, or its refusal; see ``ParityRequest``."""
    preprocess = Preprocessor(transform, Limits(), BATCH_SIZE, as_levels=as_levels)
    for start in range(0, len(pictures), BATCH_SIZE):
        batch = pictures[start : start + BATCH_SIZE]
        encoded = [np.frombuffer(picture.encoded, np.uint8)[None] for picture in batch]
        for result in preprocess(encoded):
            if isinstance(result, ServingError):
                yield result
            else:
                pixels = np.empty(transform.pixels_shape, np.float32)
                if as_levels:
                    normalise(result["PIXELS"], transform, out=pixels[None])
                else:
                    pixels[:] = result["PIXELS"][0]
                yield pixels


Trouble = tuple[Rule, str]
"""Why two sides can't be compared as they are, and the message."""


def both_sides(
    picture: Picture, ours: Array | ServingError, pixels: Pixels, transform: Transform
) -> Iterator[Compared | Trouble]:
    """The comparison, or why there is none; both where only the layout differs."""
    if isinstance(ours, ServingError):
        yield rules.NOT_COMPARED, f"the server refuses it: {ours}"
        return
    try:
        reference = pixels(picture)
    except OSError as error:
        yield rules.NOT_COMPARED, f"the reference can't read it: {error}"
        return
    if reference is None:
        yield rules.NOT_COMPARED, "the reference has no array of that name"
        return
    if reference.shape != ours.shape:
        turned = reference.transpose(_TO_OTHER[transform.layout]) if reference.ndim == 3 else None
        if turned is None or turned.shape != ours.shape:
            yield rules.SHAPE, f"the reference is {reference.shape}, the server's {ours.shape}"
            return
        other = "HWC" if transform.layout == "CHW" else "CHW"
        yield rules.LAYOUT, f"the reference feeds {other}, the server {transform.layout}"
        reference = turned
    yield compare(picture, ours, reference, transform)


_TO_OTHER = {"CHW": (2, 0, 1), "HWC": (1, 2, 0)}


def compare(picture: Picture, ours: Array, reference: Array, transform: Transform) -> Compared:
    """The figures of one picture; what is not finite counts as infinitely far."""
    apart = Recipe.of(transform).values.apart(ours, reference)
    mean, p99, largest = apart.mean(), np.percentile(apart, 99, method="higher"), apart.max()
    return Compared(picture, ours, reference, float(mean), float(p99), float(largest))

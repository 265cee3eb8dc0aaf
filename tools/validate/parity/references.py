"""What training frameworks feed, each written from the framework's own rules; and the user's own.

A built-in reference takes the numbers (sizes, mean, std, kernel) from a declared transform, and
everything else from the framework: whether it antialiases, how it rounds, in which order colours
come. Frameworks are not imported; where one hands the work to Pillow or OpenCV, so does this.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from ensemble.errors import ContractMismatch
from ensemble.transform import Transform
from tools.validate.parity.pictures import Picture
from tools.validate.parity.recipe import Recipe, Values, decode
from tools.validate.parity.resample import Resampling, Span, resample

Array = np.ndarray[Any, Any]
Pixels = Callable[[Picture], Array | None]
"""A picture to what training feeds for it; None where the reference does not have it."""


@dataclass(frozen=True)
class Training:
    """One side of the comparison.

    Attributes:
        pixels: what training feeds for a picture.
        has: whether there is anything for a picture of that name.
    """

    pixels: Pixels
    has: Callable[[str], bool] = lambda name: True


_PILLOW = {
    "triangular": Image.Resampling.BILINEAR,
    "cubic": Image.Resampling.BICUBIC,
    "lanczos3": Image.Resampling.LANCZOS,
    "nearest": Image.Resampling.NEAREST,
}


@dataclass(frozen=True)
class Reference:
    """A framework's preprocessing.

    Attributes:
        words: what it stands for, in a line.
        levels: encoded bytes and the transform to the crop, RGB, (height, width, 3), levels.
        colour: the order that the framework feeds unless told otherwise; None: as declared.
    """

    words: str
    levels: Callable[[bytes, Transform], Array]
    colour: str | None = "RGB"


def torchvision(encoded: bytes, transform: Transform) -> Array:
    """``Resize(int)`` and ``CenterCrop`` on a PIL image: antialiased, the longer side truncated.

    Source: torchvision ``transforms/functional.py``: ``_compute_resized_output_size`` (``int(size *
    long / short)``), ``resize``, ``center_crop`` (``int(round((height - crop) / 2.0))``, to even).
    """
    picture = _opened(encoded, transform)
    height, width = _sides(picture.height, picture.width, transform, int)
    resized = picture.resize((width, height), _PILLOW[transform.filter])
    left = round((width - transform.crop_width) / 2.0)
    top = round((height - transform.crop_height) / 2.0)
    box = (left, top, left + transform.crop_width, top + transform.crop_height)
    return np.asarray(resized.crop(box), np.float32)


def pillow(encoded: bytes, transform: Transform) -> Array:
    """``Image.resize`` with rounded sides, then a crop whose offset is rounded down.

    Source: Pillow's ``Image.resize``: filters widen when they shrink, always.
    """
    picture = _opened(encoded, transform)
    height, width = _sides(picture.height, picture.width, transform, round)
    resized = np.asarray(picture.resize((width, height), _PILLOW[transform.filter]), np.float32)
    return _cropped(resized, transform)


def tensorflow(encoded: bytes, transform: Transform, *, antialias: bool = False) -> Array:
    """``tf.image.resize`` of the shorter side, ``tf.image.resize_with_crop_or_pad``.

    Half-pixel centres, the whole picture onto whole sides, no rounding to levels.
    Source: TensorFlow ``image_ops_impl.py`` (``resize_images_v2``: antialias is off by default;
    ``resize_image_with_crop_or_pad``: offsets ``// 2``), ``scale_and_translate_op.cc``.
    """
    picture = decode(encoded, transform.apply_exif)
    height, width = picture.shape[:2]
    sides = _sides(height, width, transform, round)
    rows, columns = (Span(0, n / m, m) for n, m in zip((height, width), sides, strict=True))
    how = Resampling(transform.filter, antialias, repeat_edges=False)
    return _cropped(resample(picture, rows, columns, how), transform)


def keras(encoded: bytes, transform: Transform) -> Array:
    """``smart_resize`` to the crop's aspect and the resize's size, then ``CenterCrop``.

    The largest centred part of that aspect is cut out first, then resized as ``tf.image.resize``
    does.
    Source: Keras ``utils/image_utils.py``, ``smart_resize``; ``CenterCrop``: ``int(diff / 2)``.
    """
    picture = decode(encoded, transform.apply_exif)
    height, width = picture.shape[:2]
    scale = transform.resize_shorter / min(transform.crop_height, transform.crop_width)
    sides = round(transform.crop_height * scale), round(transform.crop_width * scale)
    part_height = max(1, min(height, int(width * sides[0] / sides[1])))
    part_width = max(1, min(width, int(height * sides[1] / sides[0])))
    top, left = int((height - part_height) / 2), int((width - part_width) / 2)
    part = picture[top : top + part_height, left : left + part_width]
    rows, columns = (
        Span(0, part_height / sides[0], sides[0]),
        Span(0, part_width / sides[1], sides[1]),
    )
    how = Resampling(transform.filter, antialias=False, repeat_edges=False)
    return _cropped(resample(part, rows, columns, how), transform)


def opencv(encoded: bytes, transform: Transform, *, area: bool = False) -> Array:
    """``cv2.imread``, ``cv2.resize`` of the shorter side, a crop whose offset is rounded down.

    ``INTER_LINEAR`` does not antialias; ``INTER_AREA`` averages what a new pixel covers.
    Source: OpenCV ``imgproc/resize.cpp``; ``imread`` applies EXIF unless told not to.
    """
    import cv2

    flags = cv2.IMREAD_COLOR | (0 if transform.apply_exif else cv2.IMREAD_IGNORE_ORIENTATION)
    picture = cv2.imdecode(np.frombuffer(encoded, np.uint8), flags)
    if picture is None:
        raise OSError("OpenCV can't decode it")
    height, width = _sides(picture.shape[0], picture.shape[1], transform, round)
    kernels = {"cubic": cv2.INTER_CUBIC, "lanczos3": cv2.INTER_LANCZOS4}
    kernel = cv2.INTER_AREA if area else kernels.get(transform.filter, cv2.INTER_LINEAR)
    resized = cv2.resize(picture, (width, height), interpolation=kernel)
    return _cropped(resized[..., ::-1].astype(np.float32), transform)


def _sides(
    height: int, width: int, transform: Transform, whole: Callable[[float], int]
) -> tuple[int, int]:
    """Height and width after the resize; a framework differs only in how it makes them whole."""
    if transform.resize == "exact":
        return transform.resized(height, width)
    short, length = min(height, width), transform.resize_shorter
    return whole(length * height / short), whole(length * width / short)


REFERENCES = {
    "declared": Reference(
        "the declared transform itself, in NumPy",
        lambda encoded, transform: Recipe.of(transform).geometry.levels(encoded),
        None,
    ),
    "torchvision": Reference("torchvision's Resize and CenterCrop on PIL images", torchvision),
    "pillow": Reference("Pillow's resize, sides rounded, crop offset rounded down", pillow),
    "tf": Reference("tf.image.resize without antialias, central crop", tensorflow, None),
    "tf-antialias": Reference(
        "tf.image.resize with antialias=True, central crop",
        lambda encoded, transform: tensorflow(encoded, transform, antialias=True),
        None,
    ),
    "keras": Reference("Keras smart_resize, then CenterCrop", keras, None),
    "opencv": Reference("OpenCV INTER_LINEAR, BGR as imread gives it", opencv, "BGR"),
    "opencv-area": Reference(
        "OpenCV INTER_AREA, BGR as imread gives it",
        lambda encoded, transform: opencv(encoded, transform, area=True),
        "BGR",
    ),
}
"""By the name that ``--reference`` takes."""


def load(name: str, served: Transform, training: Transform | None = None) -> Training:
    """The reference of that name, or of the file ``name`` if it ends in ``.npz``.

    Args:
        name: a key of ``REFERENCES``, or an ``.npz`` with one array an image file name.
        served: the transform of the repository.
        training: that of the training; without it the reference takes the numbers of ``served``
            and its own framework's colour order.

    Raises:
        ContractMismatch: neither a reference's name nor a file that can be read.
    """
    if name.endswith(".npz"):
        return _dumped(Path(name))
    if name not in REFERENCES:
        known = ", ".join(REFERENCES)
        raise ContractMismatch(f"reference: expected one of {known} or FILE.npz, got {name!r}")
    reference = REFERENCES[name]
    declared = training or replace(served, colour=reference.colour or served.colour)
    values = Values(declared.colour, declared.mean, declared.std, declared.layout)
    return Training(lambda picture: values.fed(reference.levels(picture.encoded, declared)))


def _dumped(path: Path) -> Training:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, EOFError, ValueError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise ContractMismatch(
            f"{path}: expected an .npz with one numeric array an image file name, got {error}"
        ) from error
    return Training(
        lambda picture: _one_of(arrays, picture.name, path),
        lambda name: any(key in arrays for key in _keys(name)),
    )


def _keys(name: str) -> tuple[str, str, str]:
    """What an image's array may be called: its path, its file name, or that without the suffix."""
    return name, Path(name).name, Path(name).stem


def _one_of(arrays: dict[str, Array], name: str, path: Path) -> Array | None:
    array = next((arrays[key] for key in _keys(name) if key in arrays), None)
    if array is None:
        return None
    if array.dtype.kind not in "fiu":
        raise ContractMismatch(f"{path}: {name}: expected numbers, got {array.dtype}")
    single = array[0] if array.ndim == 4 and len(array) == 1 else array
    return single.astype(np.float32)


def _opened(encoded: bytes, transform: Transform) -> Image.Image:
    """As a loader on Pillow opens a file; its ``convert`` clips 16-bit grey."""
    with Image.open(io.BytesIO(encoded)) as file:
        return (ImageOps.exif_transpose(file) if transform.apply_exif else file).convert("RGB")


def _cropped(levels: Array, transform: Transform) -> Array:
    """The centre, its offset rounded down."""
    top = (levels.shape[0] - transform.crop_height) // 2
    left = (levels.shape[1] - transform.crop_width) // 2
    return levels[top : top + transform.crop_height, left : left + transform.crop_width]

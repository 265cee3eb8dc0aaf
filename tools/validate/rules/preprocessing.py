"""Rules about pixels, and about batches that pass through the whole chain."""

from __future__ import annotations

from tools.validate.findings import Rule, Severity

_SHOWN = (
    "The server's own DALI pipeline against the reference; of all causes that were tried, this one "
    "brings the difference down, as the figures of the finding say."
)


def _pixels(number: int, name: str, severity: Severity, cause: str, mend: str) -> Rule:
    return Rule(f"P{number:03}", name, severity, cause, _SHOWN, mend)


COLOUR_ORDER = _pixels(
    1,
    "colour-order",
    Severity.ERROR,
    "The server feeds the colours in another order than training did: red where blue was. Nothing "
    "fails, accuracy drops.",
    "Set `colour` of the transform to the order of the training: OpenCV loads BGR, Pillow, "
    "torchvision and TensorFlow load RGB.",
)
LAYOUT = _pixels(
    2,
    "layout",
    Severity.ERROR,
    "One side feeds planes (CHW), the other interleaved channels (HWC).",
    "Set `layout` of the transform, and the dims of PIXELS, to what the ONNX model takes: PyTorch "
    "exports take CHW, TensorFlow ones HWC.",
)
RESHAPED = _pixels(
    3,
    "reshaped-not-transposed",
    Severity.ERROR,
    "The array has the right shape and the wrong content: HWC memory was read as CHW (a reshape, "
    "or the buffer of an array that is not contiguous) instead of being transposed.",
    "Use `transpose(2, 0, 1)` and `np.ascontiguousarray`, never `reshape(3, height, width)`.",
)
SCALE = _pixels(
    4,
    "scale",
    Severity.ERROR,
    "One side feeds 0..1 where the other feeds 0..255: a division by 255 is missing, or was made "
    "twice. `mean` and `std` of a transform are in levels of 0..255.",
    "Give `mean` and `std` in levels: 0.485 of torchvision is 123.675 here.",
)
NOT_NORMALISED = _pixels(
    5,
    "mean-std-not-applied",
    Severity.ERROR,
    "One side subtracts a mean and divides by a standard deviation, the other does not.",
    "Set `mean` and `std` of the transform to those of the training; mean 0 and std 255 feed 0..1.",
)
MEAN_STD_ORDER = _pixels(
    6,
    "mean-std-order",
    Severity.ERROR,
    "`mean` and `std` are those of the training in the order of the other colours.",
    "Turn both lists round: they stand in the order of `colour`.",
)
MEAN_STD_VALUES = _pixels(
    7,
    "mean-std-values",
    Severity.ERROR,
    "`mean` or `std` are not those of the training.",
    "Set them to the values that the finding names.",
)
ANTIALIAS = _pixels(
    8,
    "antialias",
    Severity.ERROR,
    "One side widens the kernel when it shrinks a picture, the other takes single pixels. On a "
    "detailed photograph that is tens of levels.",
    "Set `antialias` of the transform: true for Pillow and torchvision on PIL images, false for "
    "tf.image.resize as it is by default and for cv2.INTER_LINEAR.",
)
FILTER = _pixels(
    9,
    "filter",
    Severity.ERROR,
    "The picture is resampled with another kernel than in training.",
    "Set `filter` of the transform to the kernel that the finding names.",
)
SIZE_ROUNDING = _pixels(
    10,
    "size-rounding",
    Severity.WARNING,
    "The longer side after the resize is not a whole number, and the two sides round it "
    "differently: one column or row more or less, so the crop lies up to half a pixel elsewhere.",
    "Usually harmless: half a pixel is less than what training shifts pictures by. `rounding` of "
    "the transform has torchvision's rule.",
)
CROP_OFFSET = _pixels(
    11,
    "crop-offset",
    Severity.WARNING,
    "The crop lies one pixel elsewhere: an odd difference of sides has no middle, and the two "
    "sides round it differently.",
    "Usually harmless: one pixel is less than what training shifts pictures by. `rounding` of the "
    "transform has torchvision's rule.",
)
EXIF = _pixels(
    12,
    "exif",
    Severity.ERROR,
    "One side turns pictures upright as their EXIF orientation says, the other does not.",
    "Set `apply_exif` of the transform. Pillow and TensorFlow do not turn by themselves, OpenCV "
    "and DALI do; upright is what people mean.",
)
SIXTEEN_BITS = _pixels(
    13,
    "16-bit-scaling",
    Severity.ERROR,
    "Training clipped the levels of 16-bit pictures at 255, which leaves them white; the server "
    'scales them to 0..255. Pillow\'s `convert("RGB")` clips 16-bit grey.',
    "Convert such files to 8 bits before training, or train with scaled levels.",
)
SIXTEEN_BITS_LOADER = _pixels(
    14,
    "16-bit-loader",
    Severity.NOTE,
    "The reference's loader clips 16-bit grey pictures to white, the server scales them. Seen on a "
    "generated picture; it matters only if there were such files in training.",
    "Nothing, unless the training set has PNGs of 16 bits: then see 16-bit-scaling.",
)
STRETCHED = _pixels(
    15,
    "stretched",
    Severity.ERROR,
    "One side stretches pictures to the crop's aspect, the other keeps theirs and crops.",
    "Set `resize` of the transform to `exact` where training stretches, to `shorter` where not.",
)
RESIZE_SIZE = _pixels(
    16,
    "resize-size",
    Severity.ERROR,
    "The shorter side is resized to another length, so the crop shows more or less of the picture.",
    "Set `resize_shorter` of the transform to the length that the finding names.",
)
CROP_FIRST = _pixels(
    17,
    "crop-before-resize",
    Severity.WARNING,
    "One side cuts a square out of the picture and then resizes it, the other resizes first. The "
    "parts shown differ by less than a pixel.",
    "Usually harmless; declare it if the transform lets you choose.",
)
CROP_PLACE = _pixels(
    18,
    "crop-place",
    Severity.ERROR,
    "The crop is not taken from the centre on one of the two sides, or lies pixels away from it.",
    "Crop the centre on both sides.",
)
SHAPE = _pixels(
    19,
    "pixels-shape",
    Severity.ERROR,
    "The reference has another number of pixels or channels than the server feeds.",
    "Set `crop_height` and `crop_width` of the transform to the training's.",
)
UNEXPLAINED = _pixels(
    20,
    "pixels-differ",
    Severity.ERROR,
    "The pixels differ beyond the tolerance, and no cause that is known here, nor two of them "
    "together, explains it.",
    "Look at the report's difference pictures; dump what training really feeds into an .npz.",
)
NOT_COMPARED = _pixels(
    21,
    "not-compared",
    Severity.NOTE,
    "An image was not compared: the server refuses it, or the reference does not have it.",
    "See docs/images.md for what is accepted; name the arrays of an .npz as the image files.",
)

NOT_RUN = Rule(
    "P101",
    "chain-not-run",
    Severity.NOTE,
    "The repository is not of the kind that can be run without a server: preprocess, classifier "
    "and postprocess as Tandem renders them. Its batches were not tried.",
    "Files that are missing are named in the finding.",
    "Nothing is wrong with that; try the batches on the served models.",
)
NOT_STARTED = Rule(
    "P102",
    "chain-does-not-start",
    Severity.ERROR,
    "A stage does not start from the repository's own files, so it would not start in the server.",
    "The objects that model.py builds were built from the same files.",
    "The message is the one that the server's log would have.",
)
ANSWERS_ALIKE = Rule(
    "P103",
    "answers-alike",
    Severity.NOTE,
    "The images given have the same answers, or answers so close that rounding may turn their "
    "order, so swapped rows would not be seen. That stage was not tried.",
    "Each image was asked about alone first.",
    "Give images of different classes.",
)
LARGEST_NOT_TRIED = Rule(
    "P104",
    "largest-batch-not-tried",
    Severity.NOTE,
    "Batches as large as the configuration allows were not tried, to save memory and time.",
    "A convolutional classifier needs ten megabytes an image and more.",
    "Try them on a machine with more memory.",
)

STAGES = ("preprocess", "classifier", "postprocess")
_COMPARED = (
    "Each image alone, together with others, in another order and mixed with other requests, in "
    "process, with the objects that model.py builds."
)


def _of_each_stage(number: int, name: str, cause: str, mend: str) -> tuple[Rule, Rule, Rule]:
    one, two, three = (
        Rule(f"P1{n}{number}", f"{stage}-{name}", Severity.ERROR, cause, _COMPARED, mend)
        for n, stage in enumerate(STAGES, 1)
    )
    return one, two, three


PREPROCESS_SWAPS, CLASSIFIER_SWAPS, POSTPROCESS_SWAPS = _SWAPS = _of_each_stage(
    1,
    "swaps-rows",
    "A row of a batch is the answer to another image, so callers get each other's answers.",
    "Keep the order of the rows; look for sorting, transposing or splitting along the batch axis.",
)
PREPROCESS_COLLAPSES, CLASSIFIER_COLLAPSES, POSTPROCESS_COLLAPSES = _COLLAPSES = _of_each_stage(
    2,
    "collapses-rows",
    "Different images of a batch get the same answer.",
    "Look for a mean, maximum or reshape over the batch axis, or for a row that is repeated.",
)
PREPROCESS_MIXES, CLASSIFIER_MIXES, POSTPROCESS_MIXES = _MIXES = _of_each_stage(
    3,
    "mixes-rows",
    "An image's answer depends on the images that it shares a batch with.",
    "Look for statistics over the batch: softmax on axis 0, batch normalisation in training mode, "
    "a scale that is taken from the whole batch.",
)
PREPROCESS_FORM, CLASSIFIER_FORM, POSTPROCESS_FORM = _FORM = _of_each_stage(
    4,
    "changes-form",
    "A batch has other outputs, dtypes, rows or shapes than its images have alone.",
    "Give one row an image, of the same dtype and shape whatever the size of the batch.",
)
PREPROCESS_FAILS, CLASSIFIER_FAILS, POSTPROCESS_FAILS = _FAILS = _of_each_stage(
    5,
    "fails-on-batches",
    "A batch fails of images that are answered alone.",
    "Export the model again with a symbolic batch dimension; look for fixed shapes inside.",
)
PREPROCESS_NEIGHBOUR, CLASSIFIER_NEIGHBOUR, POSTPROCESS_NEIGHBOUR = _NEIGHBOUR = _of_each_stage(
    6,
    "bad-touches-neighbour",
    "An image that can't be answered changes or fails those that it shares a batch with.",
    "Return an error for the bad request alone and go on with the others.",
)

OF_STAGE: dict[str, dict[str, Rule]] = {
    stage: {
        "swaps": _SWAPS[n],
        "collapses": _COLLAPSES[n],
        "mixes": _MIXES[n],
        "form": _FORM[n],
        "fails": _FAILS[n],
        "neighbour": _NEIGHBOUR[n],
    }
    for n, stage in enumerate(STAGES)
}
"""By stage and kind of fault."""

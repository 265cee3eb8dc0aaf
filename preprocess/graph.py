"""The DALI graph that a declared transform stands for. The same operators on CPU and GPU.

A plain builder: only ``1/dali.py`` of the native variant decorates a pipeline, since DALI's
auto-serialisation wants to see exactly one. Heavy to import; the rest of the package is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvidia.dali import backend, fn, math, types
from nvidia.dali.pipeline import Pipeline

from ensemble.tensors import IMAGE
from ensemble.transform import Transform

_INTERPOLATION = {
    "triangular": types.INTERP_TRIANGULAR,
    "cubic": types.INTERP_CUBIC,
    "lanczos3": types.INTERP_LANCZOS3,
    "nearest": types.INTERP_NN,
}
_COLOUR = {"RGB": types.RGB, "BGR": types.BGR}
_DTYPE = {"FP32": types.FLOAT, "FP16": types.FLOAT16}


def pixels_graph(transform: Transform, decoder: str) -> Any:
    """DALI nodes from the external source ``IMAGE`` to the PIXELS of ``transform``.

    Args:
        transform: what to do with the picture.
        decoder: ``cpu``, or ``mixed`` to decode on the GPU and stay there.

    Returns:
        The output node: a sample has the transform's dtype and (3, height, width) or
        (height, width, 3).
    """
    picture = fn.decoders.image(
        _encoded(),
        device=decoder,
        output_type=_COLOUR[transform.colour],
        adjust_orientation=transform.apply_exif,
    )
    target, place = _geometry(picture, transform)
    resized = fn.resize(
        picture,
        interp_type=_INTERPOLATION[transform.filter],
        antialias=transform.antialias,
        **target,
    )
    return fn.crop_mirror_normalize(
        resized,
        crop=(transform.crop_height, transform.crop_width),
        mean=list(transform.mean),
        std=list(transform.std),
        dtype=_DTYPE[transform.dtype],
        output_layout=transform.layout,
        **place,
    )


def _geometry(picture: Any, transform: Transform) -> tuple[dict[str, Any], dict[str, Any]]:
    """What says how large to resize, and where to crop if not where DALI would."""
    if transform.resize == "exact":
        height, width = transform.resized(1, 1)
        top, left = transform.crop_offset(height, width)
        return {"size": (height, width)}, {
            "crop_pos_y": top / max(1, height - transform.crop_height),
            "crop_pos_x": left / max(1, width - transform.crop_width),
        }
    if transform.rounding == "nearest":
        return {"resize_shorter": transform.resize_shorter}, {}
    shape = picture.shape()
    shorter = math.min(shape[0], shape[1])
    sides = [transform.resize_shorter * shape[axis] // shorter for axis in (0, 1)]
    return {"size": fn.stack(*(fn.cast(side, dtype=types.FLOAT) for side in sides))}, {
        "crop_pos_y": _to_even(sides[0] - transform.crop_height),
        "crop_pos_x": _to_even(sides[1] - transform.crop_width),
    }


def _to_even(margin: Any) -> Any:
    """Half of a margin, halves to even, as DALI wants it: a part of the margin, 0..1."""
    half = margin // 2
    rounded = (margin + half % 2) // 2
    return rounded / math.max(margin, 1)


def build_pipeline(
    transform: Transform, batch_size: int, num_threads: int, device_id: int | None
) -> Pipeline:
    """A pipeline that is fed by hand, one batch in and one batch out.

    Args:
        transform: what to do with the pictures.
        batch_size: the most images of one run.
        num_threads: CPU threads that decode.
        device_id: the GPU, or None for the CPU alone.
    """
    decoder = "cpu" if device_id is None else "mixed"
    return _fed_by_hand(
        lambda: pixels_graph(transform, decoder),
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id,
    )


def build_decoder(batch_size: int) -> Pipeline:
    """A pipeline of the CPU decoder alone: encoded images to whole pictures, (h, w, 3) uint8."""
    return _fed_by_hand(
        lambda: fn.decoders.image(_encoded(), device="cpu", output_type=types.RGB),
        batch_size=batch_size,
        num_threads=1,
        device_id=None,
    )


def _encoded() -> Any:
    return fn.external_source(name=IMAGE.name, device="cpu", dtype=types.UINT8, ndim=1)


def _fed_by_hand(graph: Callable[[], Any], **settings: Any) -> Pipeline:
    # Batches differ in size, and by default a buffer that is half empty is allocated anew: malloc
    # then keeps twice the memory, and ever more of it. Buffers that stay are reused.
    backend.SetHostBufferShrinkThreshold(0.0)  # type: ignore[attr-defined]
    # By hand means one batch in flight: DALI's own prefetching would wait for a second one.
    pipeline = Pipeline(prefetch_queue_depth=1, exec_pipelined=False, exec_async=False, **settings)
    with pipeline:
        pipeline.set_outputs(graph())
    pipeline.build()
    return pipeline

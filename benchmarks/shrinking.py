"""What a decoder that shrinks costs in pixels and saves in time.

``python -m benchmarks.shrinking`` compares the crop of a large JPEG as the CPU's ``preprocess``
makes it with the declared transform of the same JPEG decoded whole: levels, answer, and time.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from benchmarks.record import write_record
from classifier.normalise import normalise
from classifier.session import open_session
from ensemble.transform import Transform
from preprocess.guard import Limits, inspect
from preprocess.host import HostDecoder
from preprocess.picture import decode
from preprocess.reference import reference_pixels
from tools.example.efficientnet_lite0 import ensure
from tools.load.photographs import large
from tools.serve.serve import EXAMPLE_MODEL

Array = np.ndarray[Any, Any]

SIZES = ((1536, 1024), (2048, 1536), (4000, 3000))
"""Width and height, pixels. The first is the smallest that is decoded smaller than it is."""
REPEATS = 5
TRANSFORM = Transform()


def pictures(width: int, height: int) -> Iterator[tuple[str, bytes]]:
    """Kinds and JPEGs: photographs, and what shrinking treats worst."""
    for photograph in large(width, height):
        yield "photograph", photograph
    random = np.random.default_rng(0)
    page = np.full((height, width, 3), 255, np.uint8)
    for line in range(20, height, 26):
        ink = tuple(int(level) for level in random.integers(0, 120, 3))
        words = "The quick brown fox jumps over the lazy dog " * (width // 600 + 1)
        cv2.putText(page, words, (8, line), cv2.FONT_HERSHEY_SIMPLEX, 0.7, ink, 1, cv2.LINE_AA)
    yield "coloured text", _jpeg(page)
    y, x = np.mgrid[-height // 2 : height - height // 2, -width // 2 : width - width // 2]
    rings = 128 + 120 * np.cos((x * x + y * y) * np.pi / max(width, height))
    yield "rings, finer outwards", _jpeg(np.repeat(rings[..., None], 3, axis=2))
    yield "noise of single pixels", _jpeg(random.integers(0, 256, (height, width, 3)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shrinking", description=__doc__)
    parser.add_argument("--out", type=Path, help="record (default: benchmarks/records/…)")
    options = parser.parse_args(arguments)
    session = open_session(ensure(EXAMPLE_MODEL), num_threads=1)
    rows = [
        {"width": width, "height": height, "kind": kind, **compared(jpeg, session)}
        for width, height in SIZES
        for kind, jpeg in pictures(width, height)
    ]
    for row in rows:
        print(" ".join(f"{name} {value}" for name, value in row.items()))
    print(f"record: {write_record('shrinking', {'pictures': rows}, options.out)}")
    return 0


def compared(jpeg: bytes, session: Any) -> dict[str, Any]:
    """One picture, both ways."""
    data = np.frombuffer(jpeg, np.uint8)
    header = inspect(data, Limits())
    levels, _ = HostDecoder(TRANSFORM)([data], [header])
    ours = np.empty(levels.shape, np.float32)
    normalise(levels, TRANSFORM, out=ours)
    whole = reference_pixels(jpeg, TRANSFORM)[None]
    off = np.abs(ours - whole) * np.float32(TRANSFORM.std[0])
    scores, scores_whole = (_scores(session, pixels) for pixels in (ours, whole))
    best = int(scores_whole.argmax())
    return {
        "bytes": len(jpeg),
        "step": decode(data, header, TRANSFORM).height.step,
        "mean_levels": round(float(off.mean()), 3),
        "p99_levels": round(float(np.percentile(off, 99)), 1),
        "max_levels": round(float(off.max()), 1),
        "same_class": int(scores.argmax()) == best,
        "score_off": round(abs(float(scores[best] - scores_whole[best])), 4),
        "decode_cpu_ms": _cpu_ms(lambda: decode(data, header, TRANSFORM)),
        "decode_whole_cpu_ms": _cpu_ms(lambda: cv2.imdecode(data, cv2.IMREAD_COLOR)),
    }


def _scores(session: Any, pixels: Array) -> Array:
    (logits,) = session.run(None, {"PIXELS": pixels})
    powers = np.exp(logits[0] - logits.max())
    return np.asarray(powers / powers.sum())


def _cpu_ms(work: Any) -> float:
    """Least CPU time of this thread, of a few runs."""
    times_s = []
    for _ in range(REPEATS):
        start_s = time.thread_time()
        work()
        times_s.append(time.thread_time() - start_s)
    return round(1e3 * min(times_s), 2)


def _jpeg(levels: Array) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(levels.astype(np.uint8)).save(stream, "JPEG", quality=92)
    return stream.getvalue()


if __name__ == "__main__":
    sys.exit(main())

"""Lets a Python backend that was built against numpy 1 read arrays of numpy 2.

Triton 24.10's stub takes a tensor's size from a field of numpy's array description that numpy 2
moved: what it reads is the description's flags. numpy 1 has no wheel for Python 3.13, so there the
arrays that go to Triton get a private description whose flags *are* the item size. They are views
that own no memory, and nothing computes on them, so no flag is acted on. A later Triton, built for
numpy 2, reads the true item size and is not affected.

Source: ``PyArray_Descr`` in numpy 2's ``ndarraytypes.h`` against numpy 1's; seen on Triton 2.51.0,
where tensors arrive empty otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
IS_NUMPY_2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0b1"


def readable(array: Array) -> Array:
    """The same array, any shape and numeric dtype, sized right for old and new stubs."""
    if not IS_NUMPY_2:
        return array
    private: Any = np.dtype(array.dtype, metadata={"for": "Triton"})
    byte_order = private.__reduce__()[2][1]
    private.__setstate__((3, byte_order, None, None, None, -1, -1, array.itemsize))
    return array.view(private)


def patch_strings(pb_utils: Any) -> None:
    """Make the stub's own serialiser of STRING tensors return what the stub can read."""
    serialize = pb_utils.serialize_byte_tensor
    if IS_NUMPY_2 and not hasattr(serialize, "patched"):

        def serialize_readable(strings: Array) -> Array:
            return readable(np.frombuffer(serialize(strings) or b"", np.uint8))

        serialize_readable.patched = True  # type: ignore[attr-defined]
        pb_utils.serialize_byte_tensor = serialize_readable

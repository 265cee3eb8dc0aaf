"""Proves that an ONNX model batches, or names the node that keeps it from that.

``mend.fix`` writes one whose declared shapes alone were in the way; it imports onnx, this does not.
"""

from tools.validate.model.check import check_model
from tools.validate.model.request import ModelUnderTest

__all__ = ["ModelUnderTest", "check_model"]

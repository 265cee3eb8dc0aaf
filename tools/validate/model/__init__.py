"""Proves that an ONNX model batches, or names the node that keeps it from that."""

from tools.validate.model.check import check_model
from tools.validate.model.request import ModelUnderTest

__all__ = ["ModelUnderTest", "check_model"]

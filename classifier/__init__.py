"""Pixels to logits where Triton has no ONNX Runtime backend of its own."""

"""The example classifier: an EfficientNet-Lite0 built from published ImageNet weights."""

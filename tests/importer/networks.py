"""Small builders of the ONNX files that people bring. Weights are random, structures are real."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Shape = Sequence[int | str | None]
ELEMENTS = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}


class Network:
    """Nodes one after the other; every call returns the name of its output."""

    def __init__(self, dtype: type[np.floating] = np.float32, seed: int = 0) -> None:
        self.dtype = dtype
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: object) -> str:
        name = output or f"/{kind}_{len(self.nodes)}_output_0"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def weight(self, *shape: int, scale: float | None = None) -> str:
        scale = np.sqrt(2 / max(1, np.prod(shape[1:]))) if scale is None else scale
        return self.constant((self.rng.normal(size=shape) * scale).astype(self.dtype))

    def constant(self, values: np.ndarray) -> str:
        name = f"onnx::W_{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(values, name))
        return name

    def conv(
        self, x: str, ins: int, outs: int, size: int = 1, stride: int = 1, groups: int = 1
    ) -> str:
        """A convolution with the batch normalisation folded in, as exporters write it."""
        return self.op(
            "Conv",
            x,
            self.weight(outs, ins // groups, size, size),
            self.weight(outs, scale=0.1),
            kernel_shape=[size] * 2,
            strides=[stride] * 2,
            pads=[size // 2] * 4,
            group=groups,
        )

    def linear(self, x: str, ins: int, outs: int, output: str | None = None) -> str:
        weight, bias = self.weight(outs, ins), self.weight(outs, scale=0.1)
        return self.op("Gemm", x, weight, bias, output=output, transB=1)

    def model(self, image: tuple[str, Shape], *outputs: tuple[str, Shape]) -> onnx.ModelProto:
        element = ELEMENTS[self.dtype]
        graph = helper.make_graph(
            self.nodes,
            "main_graph",
            [helper.make_tensor_value_info(image[0], element, image[1])],
            [helper.make_tensor_value_info(name, element, shape) for name, shape in outputs],
            self.tensors,
        )
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8)


def resnet18(classes: int = 1000, width: int = 64) -> onnx.ModelProto:
    """``torch.onnx.export(resnet18(), ..., dynamic_axes=...)``: names, nodes and shapes."""
    net = Network()
    x = net.op("Relu", net.conv("input", 3, width, 7, 2))
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    ins = width
    for outs, stride in ((width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2)):
        for step in (stride, 1):
            y = net.conv(net.op("Relu", net.conv(x, ins, outs, 3, step)), outs, outs, 3)
            short = x if step == 1 and ins == outs else net.conv(x, ins, outs, 1, step)
            x, ins = net.op("Relu", net.op("Add", y, short)), outs
    x = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    net.linear(x, ins, classes, output="output")
    return net.model(("input", ["batch", 3, 224, 224]), ("output", ["batch", classes]))


# kernel, expanded, out, squeeze-excite, hard-swish, stride
MOBILENET_V3_SMALL = (
    (3, 16, 16, True, False, 2),
    (3, 72, 24, False, False, 2),
    (3, 88, 24, False, False, 1),
    (5, 96, 40, True, True, 2),
    (5, 240, 40, True, True, 1),
    (5, 240, 40, True, True, 1),
    (5, 120, 48, True, True, 1),
    (5, 144, 48, True, True, 1),
    (5, 288, 96, True, True, 2),
    (5, 576, 96, True, True, 1),
    (5, 576, 96, True, True, 1),
)


def mobilenet_v3_small(classes: int = 1000) -> onnx.ModelProto:
    """torchvision's, as exported; hard-swish and squeeze-excite."""
    net = Network()
    x, ins = net.op("HardSwish", net.conv("x", 3, 16, 3, 2)), 16
    for kernel, wide, outs, squeeze, swish, stride in MOBILENET_V3_SMALL:
        kind = "HardSwish" if swish else "Relu"
        y = net.op(kind, net.conv(x, ins, wide)) if wide != ins else x
        y = net.op(kind, net.conv(y, wide, wide, kernel, stride, groups=wide))
        if squeeze:
            narrow = max(8, (wide // 4 + 4) // 8 * 8)
            s = net.op("Relu", net.conv(net.op("GlobalAveragePool", y), wide, narrow))
            gate = net.op("HardSigmoid", net.conv(s, narrow, wide), alpha=1 / 6)
            y = net.op("Mul", gate, y)
        y = net.conv(y, wide, outs)
        x, ins = (net.op("Add", x, y) if stride == 1 and ins == outs else y), outs
    x = net.op("GlobalAveragePool", net.op("HardSwish", net.conv(x, ins, 576)))
    x = net.op("HardSwish", net.linear(net.op("Flatten", x), 576, 1024))
    net.linear(x, 1024, classes, output="linear_1")
    return net.model(("x", ["s77", 3, 224, 224]), ("linear_1", ["s77", classes]))


def small(
    ending: str | None = None,
    dtype: type[np.floating] = np.float32,
    image: Shape = ("N", 3, 32, 32),
    classes: int = 4,
    batch: int | str = "N",
) -> onnx.ModelProto:
    """One convolution and a linear layer; NHWC if the channels are last, as tf2onnx writes it.

    Besides the answer, ``scores:0``, it puts out the ``features``.
    """
    net = Network(dtype)
    x = "image:0"
    if image[3] == 3 and image[1] != 3:
        x = net.op("Transpose", x, perm=[0, 3, 1, 2])
    x = net.op("GlobalAveragePool", net.op("Relu", net.conv(x, 3, 8, 3, 2)))
    features = net.op("Flatten", x, output="features")
    answer = net.linear(features, 8, classes, output=None if ending else "scores:0")
    if ending:
        net.op(ending, answer, output="scores:0")
    return net.model(("image:0", image), ("scores:0", [batch, classes]), ("features", [batch, 8]))


def save(model: onnx.ModelProto, path: Path, external: bool = False) -> Path:
    """Write it; ``external`` puts the weights into ``<name>.data``, as torch's exporter does."""
    if external:
        onnx.save(
            model,
            path,
            save_as_external_data=True,
            all_tensors_to_one_file=True,
            location=f"{path.name}.data",
            size_threshold=0,
        )
    else:
        onnx.save(model, path)
    return path

"""The four model configurations, as a function of target, profile and what is being served."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ensemble.errors import ContractMismatch
from ensemble.profiles import DEFAULT, FUSED, ON_A_CPU, PROFILES, STAGES
from ensemble.tensors import IMAGE, TensorSpec, answers, levels, logits, pixels
from ensemble.transform import Transform

TARGETS = ("gpu", "cpu")
PREPROCESSORS = ("python", "dali")
SCORES = ("softmax", "sigmoid", "none")
CLASSIFIERS = ("onnxruntime", "tensorrt-ep", "tensorrt-plan")

LARGEST_IN_REQUEST = 4
"""A request of several images may be as large as this many of the largest allowed.

More would keep the only decoder of a small machine busy for many seconds while everybody else
waits.
"""
SMALL_IMAGE_PIXELS = 256 * 256
"""A batch that holds no ``max_batch_size`` pictures of this many pixels is of no use."""

Fields = dict[str, Any]


@dataclass(frozen=True)
class Ends:
    """The classifier's own names for its two ends; the ensemble maps them to ours.

    Attributes:
        input: of PIXELS.
        output: of LOGITS.
        output_type: of LOGITS, ``TYPE_FP32`` or ``TYPE_FP16``; that of PIXELS is the transform's.
    """

    input: str = "PIXELS"
    output: str = "LOGITS"
    output_type: str = "TYPE_FP32"


@dataclass(frozen=True)
class Deployment:
    """Everything that the four configurations depend on.

    Attributes:
        target: ``gpu`` for NVIDIA's container, ``cpu`` for the server of the PyPI wheel.
        profile: the batching settings, by name.
        max_batch_size: the most images of one request, and of one batch.
        classes: length of LOGITS.
        top_k: how many classes an answer holds.
        instances: of preprocess and of classifier, each; ``cpu`` target: one a core.
        transform: the declared image transform.
        ends: the classifier's own names and type of its tensors.
        scores: what makes a SCORE of a logit: ``softmax``, ``sigmoid`` where an image may have
            several labels, ``none`` for a model that ends in either itself.
        preprocess: ``python`` isolates bad images, and hosts DALI in the Python backend on a GPU;
            ``dali`` is the native backend, where a bad image fails its whole batch.
        classifier: how the ``gpu`` target runs the ONNX file.
        fused: the ``cpu`` target's stages are one model, in the ensemble's place.
        max_image_bytes: the largest encoded image, bytes.
        max_image_pixels: the largest picture by its header, pixels.
        max_image_aspect: longer side over shorter side.
    """

    target: str = "gpu"
    profile: str = DEFAULT
    max_batch_size: int = 64
    classes: int = 1000
    top_k: int = 5
    instances: int = 1
    transform: Transform = field(default_factory=Transform)
    ends: Ends = field(default_factory=Ends)
    scores: str = "softmax"
    preprocess: str = "python"
    classifier: str = "onnxruntime"
    fused: bool = False
    max_image_bytes: int = 32 * 1024 * 1024
    max_image_pixels: int = 50_000_000
    max_image_aspect: int = 50

    def __post_init__(self) -> None:
        """Reject what can't be rendered, naming the choices."""
        for name, choices in (
            ("target", TARGETS),
            ("profile", tuple(PROFILES)),
            ("scores", SCORES),
            ("preprocess", PREPROCESSORS),
            ("classifier", CLASSIFIERS),
        ):
            if getattr(self, name) not in choices:
                raise ContractMismatch(f"{name}: expected {choices}, got {getattr(self, name)!r}")
        if self.target == "cpu" and (self.preprocess, self.classifier) != ("python", "onnxruntime"):
            raise ContractMismatch(
                "target cpu: the wheel's server has the Python backend only, "
                f"got preprocess={self.preprocess} classifier={self.classifier}"
            )
        if self.fused and self.target != "cpu":
            raise ContractMismatch(f"fused: expected target cpu, got {self.target}")
        if not 1 <= self.top_k <= self.classes:
            raise ContractMismatch(f"top_k: expected 1 to {self.classes}, got {self.top_k}")
        if self.max_batch_size < 1 or self.instances < 1:
            raise ContractMismatch(
                "max_batch_size and instances: expected 1 or more, "
                f"got {self.max_batch_size} and {self.instances}"
            )
        pixels = LARGEST_IN_REQUEST * self.max_image_pixels
        most = max(1, pixels // SMALL_IMAGE_PIXELS)
        if self.max_batch_size > most:
            raise ContractMismatch(
                f"max_batch_size: expected at most {most}, since preprocess takes {pixels} pixels "
                f"in a request and a small image has {SMALL_IMAGE_PIXELS}, "
                f"got {self.max_batch_size}"
            )


def configurations(deployment: Deployment) -> dict[str, Fields]:
    """Model name to its fields, in the proto's own names."""
    if deployment.fused:
        return {"ensemble": _fused(deployment)}
    return {
        "preprocess": _preprocess(deployment),
        "classifier": _classifier(deployment),
        "postprocess": _postprocess(deployment),
        "ensemble": _ensemble(deployment),
    }


def _preprocess(d: Deployment) -> Fields:
    fields = _stage(d, "preprocess", (IMAGE,), (_handed_on(d),))
    fields["input"][0]["allow_ragged_batch"] = True
    fields |= {"backend": d.preprocess}
    if d.preprocess == "python":
        fields["parameters"] = _limits(d, num_threads=1 if d.target == "cpu" else 4)
    else:
        fields["parameters"] = _parameters(num_threads=4)
    return fields | _instances(d, d.instances)


def _handed_on(d: Deployment) -> TensorSpec:
    """PIXELS. Where a Python stage takes them it can normalise them as it copies them."""
    return levels(d.transform) if d.target == "cpu" else pixels(d.transform)


def _classifier(d: Deployment) -> Fields:
    pixels_in = replace(_handed_on(d), name=d.ends.input)
    logits_out = replace(logits(d.classes, d.ends.output_type), name=d.ends.output)
    fields = _stage(d, "classifier", (pixels_in,), (logits_out,))
    fields |= _instances(d, d.instances)
    if d.target == "cpu":
        return fields | {"backend": "python", "parameters": _parameters(num_threads=1)}
    if d.classifier == "tensorrt-plan":
        return fields | {"backend": "tensorrt", "default_model_filename": "model.plan"}
    fields |= {"backend": "onnxruntime", "default_model_filename": "model.onnx"}
    if d.classifier == "tensorrt-ep":
        fields["optimization"] = {"execution_accelerators": _tensorrt_provider(d)}
    return fields


def _tensorrt_provider(d: Deployment) -> Fields:
    shape = "x".join(str(side) for side in d.transform.pixels_shape)
    provider = {
        "name": "tensorrt",
        "parameters": {
            "precision_mode": "FP16",
            "trt_engine_cache_enable": "true",
            "trt_engine_cache_path": "/tmp/tandem-engines",
            "trt_profile_min_shapes": f"{d.ends.input}:1x{shape}",
            "trt_profile_opt_shapes": f"{d.ends.input}:{min(8, d.max_batch_size)}x{shape}",
            "trt_profile_max_shapes": f"{d.ends.input}:{d.max_batch_size}x{shape}",
        },
    }
    return {"gpu_execution_accelerator": [provider]}


def _postprocess(d: Deployment) -> Fields:
    fields = _stage(d, "postprocess", (logits(d.classes, d.ends.output_type),), answers(d.top_k))
    if d.scores != "softmax":
        fields["parameters"] = _parameters(scores=d.scores)
    return fields | {"backend": "python", "instance_group": [{"kind": "KIND_CPU", "count": 1}]}


def _ensemble(d: Deployment) -> Fields:
    wires = (("IMAGE",), ("PIXELS",), ("LOGITS",), tuple(s.name for s in answers(d.top_k)))
    own = {"classifier": {"PIXELS": d.ends.input, "LOGITS": d.ends.output}}
    steps = [
        {
            "model_name": stage,
            "model_version": -1,
            "input_map": {own.get(stage, {}).get(name, name): name for name in wires[n]},
            "output_map": {own.get(stage, {}).get(name, name): name for name in wires[n + 1]},
        }
        for n, stage in enumerate(STAGES)
    ]
    return {
        "name": "ensemble",
        "platform": "ensemble",
        "max_batch_size": d.max_batch_size,
        "input": [_tensor(IMAGE)],
        "output": [_tensor(spec) for spec in answers(d.top_k)],
        "ensemble_scheduling": {"step": steps},
    }


def _fused(d: Deployment) -> Fields:
    fields = _stage(d, "ensemble", (IMAGE,), answers(d.top_k))
    fields["input"][0]["allow_ragged_batch"] = True
    fields["backend"] = "python"
    fields["parameters"] = _limits(
        d,
        classes=d.classes,
        classifier_input=d.ends.input,
        classifier_output=d.ends.output,
        classifier_output_type=d.ends.output_type,
        num_threads=1,
        scores=d.scores,
    )
    return fields | _instances(d, d.instances)


def _limits(d: Deployment, **values: int | str) -> Fields:
    """Parameters of a model that decodes."""
    return _parameters(
        max_image_aspect=d.max_image_aspect,
        max_image_bytes=d.max_image_bytes,
        max_image_pixels=d.max_image_pixels,
        **values,
    )


def _stage(
    d: Deployment, name: str, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]
) -> Fields:
    fields = {
        "name": name,
        "max_batch_size": d.max_batch_size,
        "input": [_tensor(spec) for spec in inputs],
        "output": [_tensor(spec) for spec in outputs],
    }
    # Where all stages are one model, what counts is set for the classifier.
    batching = PROFILES[d.profile].dynamic_batching("classifier" if d.fused else name)
    if batching is None:
        return fields
    sizes = batching.get("preferred_batch_size")
    default = FUSED if d.fused else ON_A_CPU
    if sizes is None and d.target == "cpu" and name in default.stages:
        sizes = default.value
    if sizes:  # Triton refuses one above the maximum
        sizes = [size for size in sizes if size <= d.max_batch_size]
        batching = batching | {"preferred_batch_size": sizes}
    return fields | {"dynamic_batching": batching}


def _instances(d: Deployment, count: int) -> Fields:
    kind = "KIND_CPU" if d.target == "cpu" else "KIND_GPU"
    return {"instance_group": [{"kind": kind, "count": count}]}


def _tensor(spec: TensorSpec) -> Fields:
    return {"name": spec.name, "data_type": spec.data_type, "dims": list(spec.dims)}


def _parameters(**values: int | str) -> Fields:
    return {name: {"string_value": str(value)} for name, value in values.items()}

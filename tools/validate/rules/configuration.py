"""What the fields of one model's configuration may be: C0, what the server refuses."""

from __future__ import annotations

from tools.validate.findings import Rule, Severity

_CORE = "Triton's core checks it when it polls the repository (model_config_utils.cc)."
_LIVE = " Seen on a live 2.51."


def _error(code: str, name: str, cause: str, mend: str, evidence: str = _CORE + _LIVE) -> Rule:
    return Rule(code, name, Severity.ERROR, cause, evidence, mend)


BACKEND_MISSING = _error(
    "C002",
    "backend-missing",
    "The configuration names no backend, and no file in the version folder tells one.",
    'Set backend: "onnxruntime", "python", "dali" or another.',
)
BACKEND_OF_ENSEMBLE = _error(
    "C003",
    "backend-of-ensemble",
    "An ensemble has no backend: it only passes tensors between other models.",
    "Remove the backend, or the platform 'ensemble'.",
)
PLATFORM_MISMATCH = _error(
    "C004",
    "platform-mismatch",
    "The platform is not one of the backend's.",
    "Remove the platform: the backend is enough.",
)
MAX_BATCH_SIZE_NEGATIVE = _error(
    "C005",
    "max-batch-size-negative",
    "max_batch_size is below 0.",
    "Set the largest batch that the model takes; 0 switches batching off.",
)
PREFERRED_NOT_POSITIVE = _error(
    "C006",
    "preferred-size-not-positive",
    "A preferred batch size is 0 or less.",
    "Remove it.",
)
PREFERRED_ABOVE_MAX = _error(
    "C007",
    "preferred-size-above-max",
    "A preferred batch size is larger than max_batch_size, so it could never form.",
    "Raise max_batch_size if the model takes it, or remove the size.",
)
DEFAULT_PRIORITY = _error(
    "C008",
    "default-priority-out-of-range",
    "With priority_levels set, default_priority_level says which level a request without a "
    "priority has; it must be one of them, and 0 is not.",
    "Set default_priority_level between 1 and priority_levels.",
)
PRIORITY_KEY = _error(
    "C009",
    "priority-policy-out-of-range",
    "A priority_queue_policy is for a level that does not exist.",
    "Use a key between 1 and priority_levels; levels without a policy take default_queue_policy.",
)
ORDERING_WITH_PRIORITIES = _error(
    "C010",
    "ordering-with-priorities",
    "preserve_ordering promises answers in the order of the requests, priorities change it.",
    "Drop one of the two.",
)
ORDERING_WITH_DELAY = _error(
    "C011",
    "ordering-with-delay-action",
    "preserve_ordering does not go with a timeout action of DELAY, which moves a request back.",
    "Use timeout_action: REJECT, or drop preserve_ordering.",
)
CACHE_WITH_SEQUENCES = _error(
    "C012",
    "cache-with-sequences",
    "The response cache does not work with sequence batching.",
    "Disable response_cache.",
)
CACHE_WITH_DECOUPLED = _error(
    "C013",
    "cache-with-decoupled",
    "The response cache does not work with a decoupled model.",
    "Disable response_cache.",
)
OLDEST_NOT_POSITIVE = _error(
    "C014",
    "oldest-preferred-size-not-positive",
    "A preferred batch size of the oldest strategy is 0 or less.",
    "Remove it.",
)
OLDEST_ABOVE_MAX = _error(
    "C015",
    "oldest-preferred-size-above-max",
    "A preferred batch size of the oldest strategy is larger than max_batch_size.",
    "Raise max_batch_size if the model takes it, or remove the size.",
)
SLOT_UTILIZATION = _error(
    "C016",
    "slot-utilization-out-of-range",
    "minimum_slot_utilization is a share, between 0 and 1.",
    "Set a value between 0 and 1.",
)
SEQUENCE_CONTROL = _error(
    "C017",
    "sequence-control",
    "A control input of the sequence batcher is not what the batcher can send.",
    "Give each control a name, one tensor a kind, and for START, END and READY two values in "
    "exactly one of int32_false_true, fp32_false_true and bool_false_true.",
)
ENSEMBLE_PLATFORM = _error(
    "C018",
    "ensemble-platform",
    'ensemble_scheduling and platform: "ensemble" go together, and one of them is missing.',
    "Add the missing one, or remove the other.",
)
TWO_SCHEDULERS = _error(
    "C019",
    "two-schedulers",
    "dynamic_batching, sequence_batching and ensemble_scheduling exclude each other.",
    "Keep one. An ensemble batches in its members: set dynamic_batching there.",
    "They are one 'oneof' of the protobuf message, so the text does not even parse." + _LIVE,
)
MODEL_METRICS = _error(
    "C022",
    "model-metrics",
    "A metric_control lacks its family or its buckets.",
    "Name the family of the metric and list histogram_options.buckets.",
    _CORE,
)
INITIAL_STATE = _error(
    "C023",
    "initial-state",
    "The initial_state of an implicit state does not fit the state.",
    "Give at most one initial_state, with a name, the state's data_type and dims, and its data.",
    "Triton's sequence batcher checks it when the model loads." + _LIVE,
)
NAME_OF_DIRECTORY = _error(
    "C024",
    "name-not-directory",
    "The model's name is not the name of its folder.",
    "Rename one of them, or leave the name out: Triton then takes the folder's.",
)
TENSOR_INCOMPLETE = _error(
    "C030",
    "tensor-incomplete",
    "A tensor lacks its name, data_type or dims.",
    "Write all three.",
)
DIM_NOT_POSITIVE = _error(
    "C031",
    "dim-not-positive",
    "A dim is neither a length of 1 or more nor -1, which stands for any length.",
    "Write the length, or -1. With max_batch_size above 0 the batch axis is not listed at all.",
)
EMPTY_RESHAPE = _error(
    "C032",
    "empty-reshape",
    "A reshape to nothing needs the batch axis, and max_batch_size is 0.",
    "Remove the reshape, or let the model batch.",
)
RESHAPE_SIZE = _error(
    "C033",
    "reshape-changes-size",
    "A reshape must keep the number of values, and pair each -1 with one of the dims.",
    "Correct the shape.",
)
FORMAT_DIMS = _error(
    "C034",
    "format-needs-three-dims",
    "An image format says how three dims are laid out, and the tensor has another number.",
    "List height, width and channels only; drop the first dim if it is the batch: with "
    "max_batch_size above 0 Triton adds it. A reshape does not help here.",
)
SHAPE_TENSOR = _error(
    "C035",
    "shape-tensor-outside-tensorrt",
    "Only TensorRT knows shape tensors.",
    "Remove is_shape_tensor.",
)
BATCH_INPUT = _error(
    "C036",
    "batch-input",
    "A batch_input is incomplete or names an input that is not there.",
    "Name exactly one existing source_input and a data_type of TYPE_INT32 or TYPE_FP32.",
)
BATCH_OUTPUT = _error(
    "C037",
    "batch-output",
    "A batch_output is incomplete or names a tensor that is not there.",
    "Name exactly one existing source_input and existing outputs, each once.",
)
KIND_WITH_GPUS = _error(
    "C040",
    "kind-takes-no-gpus",
    "An instance group lists GPUs, and its kind does not run on listed GPUs.",
    "Remove gpus, or set kind: KIND_GPU.",
)
NO_GPU = _error(
    "C041",
    "no-gpu",
    "An instance group asks for a GPU that is not there.",
    "Render for the machine: tandem export --target cpu, or set kind: KIND_CPU. KIND_AUTO takes a "
    "GPU where there is one.",
)
PROFILE = _error(
    "C042",
    "profile-outside-tensorrt",
    "Optimisation profiles exist in TensorRT only, and are numbered from 0.",
    "Remove profile.",
)
NO_BACKEND = _error(
    "C043",
    "backend-not-in-server",
    "The server has no backend of that name.",
    "Correct the name, or render for the server: tandem export --target cpu. The PyPI wheel's "
    "server has the Python backend only.",
    "Triton looks for libtriton_<backend>.so when it loads the model." + _LIVE,
)
MODEL_WARMUP = _error(
    "C044",
    "model-warmup",
    "A warm-up request does not fit the model's inputs.",
    "Give every input that the model requires, with its data_type, its dims and one source of "
    "data, and a batch_size of at most max_batch_size.",
    "Triton builds the warm-up requests while it loads the model, and refuses the model." + _LIVE,
)
AGENT = _error(
    "C045",
    "repository-agent",
    "A repository agent is named that the server does not have.",
    "Remove it, or install libtritonrepoagent_<name>.so.",
    "Triton loads the agents before it loads the model." + _LIVE,
)
RUNTIME = _error(
    "C046",
    "runtime",
    "The runtime is no file that the backend has.",
    "Leave it out.",
    "Triton looks for that file in the backend's folder." + _LIVE,
)
NON_LINEAR = _error(
    "C047",
    "non-linear-outside-tensorrt",
    "Only TensorRT knows tensors of a non-linear format.",
    "Remove is_non_linear_format_io.",
)

STRING_INTO_DALI = _error(
    "C048",
    "string-into-dali",
    "DALI takes encoded images as bytes, and Triton's TYPE_STRING is no tensor of bytes to it.",
    "Declare TYPE_UINT8 with dims: [ -1 ] and have clients send the bytes of the file.",
    "dali_backend issue 176: the backend has no such type.",
)

UNNAMED_NUMBER = _error(
    "C049",
    "number-without-a-name",
    "An enumeration is given as a number that stands for nothing.",
    "Write the name.",
)
BATCH_STRATEGY = _error(
    "C050",
    "batch-strategy",
    "A custom batching library is named, or lies beside the model, that can't be used.",
    "Give an absolute path to a shared library; it does not go with sequence batching.",
    "Triton's backend_model.cc looks at TRITON_BATCH_STRATEGY_PATH, then for batchstrategy.so."
    + _LIVE,
)
PARAMETER = _error(
    "C051",
    "python-parameter",
    "A parameter of the Python backend has a value that it does not take.",
    "Correct it.",
    "The Python backend reads it when it loads the model (python_be.cc)." + _LIVE,
)
TENSORRT_ON_A_CPU = _error(
    "C052",
    "tensorrt-on-a-cpu",
    "TensorRT runs on GPUs only.",
    "Set kind: KIND_GPU.",
    "Triton's tensorrt_backend refuses other kinds.",
)

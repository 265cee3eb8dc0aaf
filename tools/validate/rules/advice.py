"""What the fields of one model's configuration should be: C1, what the server accepts."""

from __future__ import annotations

from tools.validate.findings import Rule, Severity

_CORE = "Triton's core fills it in when it polls the repository (model_config_utils.cc)."
_BATCHER = "Triton's batcher (dynamic_batch_scheduler.cc, rate_limiter.cc, scheduler_utils.cc)."


def _warning(code: str, name: str, cause: str, mend: str, evidence: str) -> Rule:
    return Rule(code, name, Severity.WARNING, cause, evidence, mend)


TIMEOUT_BEFORE_DELAY = _warning(
    "C101",
    "timeout-before-delay",
    "The queue timeout is not longer than the queue delay, and expired requests are rejected: a "
    "lone request on an idle server waits for company until it is rejected.",
    "Make the delay far shorter than the timeout.",
    _BATCHER + " Live: delay 300 ms, timeout 100 ms, idle server: HTTP 503 after 100 ms.",
)
OVERRIDE_WITHOUT_TIMEOUT = _warning(
    "C102",
    "override-without-timeout",
    "allow_timeout_override without a default_timeout_microseconds does nothing: a request's own "
    "timeout counts only where it is shorter than the default, and nothing is shorter than 0.",
    "Set default_timeout_microseconds to the longest that any request may wait.",
    _BATCHER + " Live: a request with a timeout of 100 ms waited 3.97 s and succeeded. It also "
    "makes Triton form batches late (see C117).",
)
PRIORITIES_OFF = _warning(
    "C103",
    "priorities-off",
    "A default priority or a policy per priority is set, and priority_levels is 0, so every "
    "request is in the same queue.",
    "Set priority_levels, or remove the rest.",
    _BATCHER,
)
DELAY_WITHOUT_BATCHING = _warning(
    "C104",
    "delay-without-batching",
    "A queue delay, and no batch larger than 1 can form.",
    "Raise max_batch_size if the model takes it, or remove the delay.",
    _BATCHER,
)
PREFERRED_BELOW_MAX = _warning(
    "C105",
    "preferred-size-overshot",
    "With a queue delay, a batch of the largest preferred size still takes the next request that "
    "arrives alone, so batches of one more form, a size that was not asked for.",
    "Make max_batch_size the largest preferred size, or set no delay.",
    "Triton issue 8141. Live, preferred 4, max 64: 37 batches of 4, 30 of 5.",
)
PREFERRED_WITHOUT_PROFILES = _warning(
    "C106",
    "preferred-sizes-for-nothing",
    "Preferred sizes make Triton wait for exactly those sizes. Only a model with a special plan "
    "for certain sizes (TensorRT's optimisation profiles) gains from that.",
    "Remove preferred_batch_size: Triton then takes what has arrived, up to max_batch_size.",
    "Triton's own guide (batcher.md) says so; docs/profiles.md has the measured effect.",
)
SHAPES_APART = _warning(
    "C107",
    "variable-shape-not-ragged",
    "Requests whose lengths differ in a -1 dim are never batched together: the first that "
    "differs ends the batch, and starts the next.",
    "Set allow_ragged_batch: true on the input if the backend takes a list of unequal inputs "
    "(Python and DALI do), or have clients send one shape.",
    "Triton compares every request with the first of its batch (scheduler_utils.cc). Live: 8 "
    "JPEGs of 8 lengths, 8 executions; with allow_ragged_batch, 1.",
)
ORDERING_BROKEN = _warning(
    "C109",
    "ordering-broken",
    "preserve_ordering does not keep the order in this release.",
    "Use Triton 26.08 or later, or match answers by request id.",
    "Triton core pull requests 449 (25.09) and 520 (26.08).",
)
INSTANCES_OMITTED = _warning(
    "C110",
    "instances-omitted",
    "Without an instance_group, ONNX Runtime on a CPU gets two instances, which share the cores "
    "and the batches.",
    "Write the instance_group that you measured.",
    _CORE + " The default count of this backend on a CPU is 2.",
)
STARVATION = _warning(
    "C113",
    "starvation",
    "Priorities are strict: while urgent requests keep coming, no other is ever served, and "
    "nothing ends its wait.",
    "Give the lower levels a default_timeout_microseconds or a max_queue_size.",
    _BATCHER + " A level is scanned only when those above it are empty.",
)
LATE_MODE = _warning(
    "C117",
    "late-mode",
    "Any queue policy, or priority_levels, makes Triton form a batch only when an instance is "
    "free. On one instance a request may then be forgotten until the next one comes, for up to "
    "500 ms.",
    "Use a policy where you need it, and then at least two instances, or steady traffic.",
    _BATCHER + " Live, one instance: 7 to 34 of 100 requests that arrived behind another waited "
    "500 ms longer; none with two instances.",
)
LATE_MODE_DRIFT = _warning(
    "C118",
    "late-mode-drift",
    "A queue policy, a queue delay and several instances together lose count of the free "
    "instances, and throughput falls until the model is loaded again.",
    "Remove the delay: with a policy it gains nothing.",
    "Triton issue 8870, open; it follows from the source.",
)
DELAY_UNDERFILLS = _warning(
    "C119",
    "delay-underfills",
    "With a short queue delay on inputs of fixed shape, a batch that left the queue early is not "
    "filled up while it waits for the instance; newcomers wait a whole further execution.",
    "Compare with no delay: a busy instance already is the timer.",
    _BATCHER + " Live, 10 ms delay, one instance: p50 up 54% at 100 requests/s, same mean batch.",
)
BATCHING_OFF = _warning(
    "C120",
    "batching-off",
    "The model takes batches, and without dynamic_batching every request runs on its own.",
    "Add dynamic_batching { }.",
    "Triton's default scheduler makes a payload of each request.",
)
DUPLICATE_TENSOR = _warning(
    "C121",
    "duplicate-tensor",
    "Two inputs, or two outputs, have the same name; which of them counts is not defined.",
    "Rename one of them.",
    "A live 2.51 loads it and says nothing.",
)
RESOURCE_BOTH_WAYS = _warning(
    "C122",
    "resource-both-ways",
    "One resource of the rate limiter is global in one place and per device in another. The server "
    "refuses that once it runs with --rate-limit=execution_count; until then nobody looks.",
    "Give the two kinds two names.",
    "Triton's rate_limiter.cc; a live 2.51 without the option loads it.",
)
ACCELERATOR = _warning(
    "C123",
    "unknown-accelerator",
    "An execution accelerator is named that ONNX Runtime's backend does not know.",
    "tensorrt or cuda on a GPU, openvino on a CPU.",
    "Triton's onnxruntime_backend refuses unknown ones; read, not run here.",
)
BACKEND_UNKNOWN = _warning(
    "C124",
    "backend-unknown",
    "NVIDIA's containers have no backend of that name, nor does the model's folder.",
    "Correct the name, or ignore this where the server has a backend of your own.",
    "Triton looks for libtriton_<backend>.so in the version, the model and the backend folder.",
)

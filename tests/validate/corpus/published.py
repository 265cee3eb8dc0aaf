"""Configurations as guides and bug reports publish them, with the fault that they have."""

from __future__ import annotations

from tests.validate.corpus.base import BASE, MODEL, Case, alone, with_input

_NCHW = 'name: "A" data_type: TYPE_FP32 dims: [{}] format: FORMAT_NCHW'

_PUBLISHED = {
    "pub_preferred_16_of_8": BASE
    + """
dynamic_batching {
  preferred_batch_size: [ 4, 8, 16 ]
  max_queue_delay_microseconds: 100
}
""",
    "pub_priority_without_default": BASE
    + """
dynamic_batching {
  priority_levels: 3
  priority_queue_policy { key: 1 value { max_queue_size: 10 } }
}
""",
    "pub_priority_from_0": BASE
    + """
dynamic_batching {
  priority_levels: 2
  default_priority_level: 1
  priority_queue_policy { key: 0 value { timeout_action: REJECT } }
  priority_queue_policy { key: 1 value { timeout_action: DELAY } }
}
""",
    "pub_ordering_with_delay": BASE
    + """
dynamic_batching {
  preserve_ordering: true
  default_queue_policy {
    timeout_action: DELAY
    default_timeout_microseconds: 50000
  }
}
""",
    "pub_queue_size_in_batching": BASE
    + """
dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 500
  max_queue_size: 100
}
""",
    "pub_enqueued_requests": BASE
    + """
dynamic_batching {
  max_queue_delay_microseconds: 500
  max_enqueued_requests: 64
}
""",
    "pub_two_schedulers": BASE
    + """
dynamic_batching { max_queue_delay_microseconds: 500 }
sequence_batching { max_sequence_idle_microseconds: 5000000 }
""",
    "pub_quoted_reject": BASE
    + """
dynamic_batching { default_queue_policy { timeout_action: "REJECT" } }
""",
    "pub_milliseconds": BASE
    + """
dynamic_batching { max_queue_delay_milliseconds: 5 }
""",
    "pub_delay_per_priority": BASE
    + """
dynamic_batching {
  priority_levels: 2
  default_priority_level: 2
  priority_queue_policy { key: 1 value { max_queue_delay_microseconds: 100 } }
}
""",
    "pub_batch_in_dims": with_input(_NCHW.format("1, 3, 224, 224")),
    "pub_batch_in_dims_wild": with_input(_NCHW.format("-1, 3, 224, 224")),
    "pub_image": with_input(_NCHW.format("3, 224, 224")),
    "pub_gpu_on_a_cpu": BASE + "instance_group [ { count: 1 kind: KIND_GPU gpus: [ 0 ] } ]",
    "pub_yaml": "name: model\nplatform: onnxruntime_onnx\nmax_batch_size: 8\n",
    "pub_json": '{ "name": "pub_json", "max_batch_size": 8 }',
    "pub_type": BASE.replace("TYPE_FP32", "FP32"),
    "pub_instance_kind": BASE + "instance_group { kind: GPU }",
    "pub_preferred_string": BASE + 'dynamic_batching { preferred_batch_size: "4,8" }',
}


def cases() -> list[Case]:
    """One model each."""
    files = {"1/model.py": MODEL}
    return [alone(name, config, files) for name, config in _PUBLISHED.items()]

"""Batch sizes, priorities, queue policies."""

from __future__ import annotations

from tests.validate.corpus.base import BASE

CONFIGURATIONS: dict[str, str | None] = {
    "mbs_neg": 'backend: "python"\nmax_batch_size: -1\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "mbs_0": 'backend: "python"\nmax_batch_size: 0\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "mbs_1": 'backend: "python"\nmax_batch_size: 1\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "mbs_big": 'backend: "python"\nmax_batch_size: 2147483647\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "mbs_over": 'backend: "python"\nmax_batch_size: 2147483648\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "db_empty": BASE + "dynamic_batching {  }",
    "db_p0": BASE + "dynamic_batching { preferred_batch_size: [0] }",
    "db_pneg": BASE + "dynamic_batching { preferred_batch_size: -1 }",
    "db_p9": BASE + "dynamic_batching { preferred_batch_size: [4, 9] }",
    "db_p48": BASE + "dynamic_batching { preferred_batch_size: [4, 8] }",
    "db_pdup": BASE + "dynamic_batching { preferred_batch_size: [4,4] }",
    "db_pdesc": BASE + "dynamic_batching { preferred_batch_size: [8,4] }",
    "db_delay": BASE + "dynamic_batching { max_queue_delay_microseconds: 100 }",
    "db_prio2": BASE + "dynamic_batching { priority_levels: 2 }",
    "db_prio2d1": BASE + "dynamic_batching { priority_levels: 2 default_priority_level: 1 }",
    "db_prio2d3": BASE + "dynamic_batching { priority_levels: 2 default_priority_level: 3 }",
    "db_prio2d0": BASE + "dynamic_batching { priority_levels: 2 default_priority_level: 0 }",
    "db_prio0d5": BASE + "dynamic_batching { default_priority_level: 5 }",
    "db_prio_key0": BASE
    + "dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 0 value { } } }",
    "db_prio_key3": BASE
    + "dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value { } } }",
    "db_prio_nolevels": BASE + "dynamic_batching { priority_queue_policy { key: 3 value { } } }",
    "db_prio_dupkey": BASE
    + "dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 1 value { } } priority_queue_policy { key: 1 value { } } }",
    "db_prio_keymissing": BASE
    + "dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { value { } } }",
    "db_prio_valmissing": BASE
    + "dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 1 } }",
    "db_pres": BASE + "dynamic_batching { preserve_ordering: true }",
    "db_pres_p1": BASE
    + "dynamic_batching { preserve_ordering: true priority_levels: 1 default_priority_level: 1 }",
    "db_pres_p2": BASE
    + "dynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }",
    "db_pres_delay": BASE
    + "dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 10 } }",
    "db_pres_delay0": BASE
    + "dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY } }",
    "db_pres_delay_ovr": BASE
    + "dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY allow_timeout_override: true } }",
    "db_pres_delay_p": BASE
    + "dynamic_batching { preserve_ordering: true priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 10 } } }",
    "db_pres_delay_pnol": BASE
    + "dynamic_batching { preserve_ordering: true priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 10 } } }",
    "db_pres_rej": BASE
    + "dynamic_batching { preserve_ordering: true default_queue_policy { default_timeout_microseconds: 10 } }",
    "db_mbs0": 'backend: "python"\nmax_batch_size: 0\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\ndynamic_batching { }',
    "db_mbs0_p": 'backend: "python"\nmax_batch_size: 0\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\ndynamic_batching { preferred_batch_size: 1 }',
}

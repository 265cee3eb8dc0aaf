"""The sequence batcher, the response cache, decoupled models."""

from __future__ import annotations

from tests.validate.corpus.base import BASE

CONFIGURATIONS: dict[str, str | None] = {
    "seq": BASE + "sequence_batching {  }",
    "seq_direct": BASE + "sequence_batching { direct { } }",
    "seq_oldest": BASE + "sequence_batching { oldest { max_candidate_sequences: 4 } }",
    "seq_oldest0": BASE + "sequence_batching { oldest { } }",
    "seq_op0": BASE
    + "sequence_batching { oldest { max_candidate_sequences: 4 preferred_batch_size: 0 } }",
    "seq_op16": BASE
    + "sequence_batching { oldest { max_candidate_sequences: 4 preferred_batch_size: 16 } }",
    "seq_both": BASE + "sequence_batching { oldest { } direct { } }",
    "seq_util2": BASE + "sequence_batching { direct { minimum_slot_utilization: 2 } }",
    "seq_utilneg": BASE + "sequence_batching { direct { minimum_slot_utilization: -0.5 } }",
    "seq_util1": BASE
    + "sequence_batching { direct { minimum_slot_utilization: 1.0 max_queue_delay_microseconds: 3 } }",
    "seq_utilnan": BASE + "sequence_batching { direct { minimum_slot_utilization: nan } }",
    "seq_cache": BASE + "sequence_batching {  }\nresponse_cache { enable: true }",
    "seq_cacheoff": BASE + "sequence_batching {  }\nresponse_cache { enable: false }",
    "cache": BASE + "response_cache { enable: true }",
    "dec_cache": BASE
    + "model_transaction_policy { decoupled: true }\nresponse_cache { enable: true }",
    "dec": BASE + "model_transaction_policy { decoupled: true }",
    "ctl_s": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }  }',
    "ctl_all": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } } control_input { name: "E" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [0, 1] } } control_input { name: "R" control { kind: CONTROL_SEQUENCE_READY bool_false_true: [false, true] } } control_input { name: "K" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }  }',
    "ctl_ss": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } } control_input { name: "T" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }  }',
    "ctl_ss1": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }  }',
    "ctl_two": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } control { kind: CONTROL_SEQUENCE_END fp32_false_true: [0, 1] } }  }',
    "ctl_none": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START } }  }',
    "ctl_both": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0,1] fp32_false_true: [0,1] } }  }',
    "ctl_three": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0,1,2] } }  }',
    "ctl_one": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [1] } }  }',
    "ctl_noname": BASE
    + "sequence_batching { control_input { control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } } }",
    "ctl_bool3": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START bool_false_true: [false,true,true] } }  }',
    "ctl_corrft": BASE
    + 'sequence_batching { control_input { name: "K" control { kind: CONTROL_SEQUENCE_CORRID int32_false_true: [0,1] data_type: TYPE_UINT64 } }  }',
    "ctl_corrfp": BASE
    + 'sequence_batching { control_input { name: "K" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32 } }  }',
    "ctl_corrnone": BASE
    + 'sequence_batching { control_input { name: "K" control { kind: CONTROL_SEQUENCE_CORRID } }  }',
    "ctl_corrstr": BASE
    + 'sequence_batching { control_input { name: "K" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } }  }',
    "ctl_corr_int32": BASE
    + 'sequence_batching { control_input { name: "K" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT32 } }  }',
    "ctl_corrtwo": BASE
    + 'sequence_batching { control_input { name: "K" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } } control_input { name: "L" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }  }',
    "ctl_empty": BASE + 'sequence_batching { control_input { name: "S"  }  }',
    "ctl_dtype": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0,1] data_type: TYPE_INT32 } }  }',
    "ctl_corr_uint8": BASE
    + 'sequence_batching { control_input { name: "K" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT8 } }  }',
    "ctl_rr": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_READY bool_false_true: [false, true] } } control_input { name: "T" control { kind: CONTROL_SEQUENCE_READY bool_false_true: [false, true] } }  }',
    "ctl_ee": BASE
    + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [0, 1] } } control_input { name: "T" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [0, 1] } }  }',
    "state": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1  } }',
    "state_init": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1 initial_state { data_type: TYPE_FP32 dims: 1 zero_data: true name: "x" } } }',
    "state_init2": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1 initial_state { data_type: TYPE_FP32 dims: 1 zero_data: true name: "x" } initial_state { data_type: TYPE_FP32 dims: 1 zero_data: true name: "y" } } }',
    "state_initnoname": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1 initial_state { data_type: TYPE_FP32 dims: 1 zero_data: true } } }',
    "state_initdtype": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1 initial_state { data_type: TYPE_INT32 dims: 1 zero_data: true name: "x" } } }',
    "state_initdims": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1 initial_state { data_type: TYPE_FP32 dims: 2 zero_data: true name: "x" } } }',
    "state_initnodata": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1 initial_state { data_type: TYPE_FP32 dims: 1 name: "x" } } }',
    "state_noname": BASE + "sequence_batching { state { data_type: TYPE_FP32 dims: 1 } }",
    "state_nodims": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 } }',
    "state_dim0": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 0 } }',
    "state_nodtype": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" dims: 1 } }',
    "state_file": BASE
    + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1 initial_state { data_type: TYPE_FP32 dims: 1 data_file: "no" name: "x" } } }',
}

"""Inputs, outputs, batch inputs and batch outputs."""

from __future__ import annotations

from tests.validate.corpus.base import BASE, MODEL, with_input, with_output

CONFIGURATIONS: dict[str, str | None] = {
    "io_noinput": 'backend: "python"\nmax_batch_size: 8\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "io_nooutput": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\n',
    "io_none": 'backend: "python"\nmax_batch_size: 8\n',
    "in_noname": with_input("data_type: TYPE_FP32 dims: 4"),
    "in_notype": with_input('name: "A" dims: 4'),
    "in_nodims": with_input('name: "A" data_type: TYPE_FP32'),
    "in_dim0": with_input('name: "A" data_type: TYPE_FP32 dims: 0'),
    "in_dimneg1": with_input('name: "A" data_type: TYPE_FP32 dims: -1'),
    "in_dimneg2": with_input('name: "A" data_type: TYPE_FP32 dims: -2'),
    "in_dim0b": with_input('name: "A" data_type: TYPE_FP32 dims: [4,0]'),
    "in_invalid": with_input('name: "A" data_type: TYPE_INVALID dims: 4'),
    "in_resh_empty": with_input('name: "A" data_type: TYPE_FP32 dims: 1 reshape { }'),
    "in_resh_empty4": with_input('name: "A" data_type: TYPE_FP32 dims: 4 reshape { shape: [] }'),
    "in_resh_ok": with_input('name: "A" data_type: TYPE_FP32 dims: 4 reshape { shape: [2,2] }'),
    "in_resh_bad": with_input('name: "A" data_type: TYPE_FP32 dims: 4 reshape { shape: [3,2] }'),
    "in_resh_wild": with_input(
        'name: "A" data_type: TYPE_FP32 dims: -1 reshape { shape: [-1, 1] }'
    ),
    "in_resh_wild2": with_input(
        'name: "A" data_type: TYPE_FP32 dims: [-1,2] reshape { shape: [-1, 3] }'
    ),
    "in_resh_wild3": with_input(
        'name: "A" data_type: TYPE_FP32 dims: [-1,-1] reshape { shape: [-1] }'
    ),
    "in_resh_wild4": with_input(
        'name: "A" data_type: TYPE_FP32 dims: [-1,2] reshape { shape: [2,-1] }'
    ),
    "in_resh_wild5": with_input(
        'name: "A" data_type: TYPE_FP32 dims: [-1,2,-1] reshape { shape: [-1,-1,2] }'
    ),
    "in_resh_wild6": with_input(
        'name: "A" data_type: TYPE_FP32 dims: [2,2,-1] reshape { shape: [4,-1] }'
    ),
    "in_resh_nodims": with_input('name: "A" data_type: TYPE_FP32 reshape { shape: [1] }'),
    "in_resh_dim0": with_input('name: "A" data_type: TYPE_FP32 dims: 4 reshape { shape: [4,0] }'),
    "in_resh_neg2": with_input('name: "A" data_type: TYPE_FP32 dims: 4 reshape { shape: [-2,-2] }'),
    "in_nhwc2": with_input('name: "A" data_type: TYPE_FP32 dims: [4,4] format: FORMAT_NHWC'),
    "in_nhwc3": with_input('name: "A" data_type: TYPE_FP32 dims: [4,4,3] format: FORMAT_NHWC'),
    "in_nchw4": with_input('name: "A" data_type: TYPE_FP32 dims: [1,3,4,4] format: FORMAT_NCHW'),
    "in_nchw3": with_input('name: "A" data_type: TYPE_FP32 dims: [3,4,4] format: FORMAT_NCHW'),
    "in_nchw5": with_input(
        'name: "A" data_type: TYPE_FP32 dims: [3,4,4] format: FORMAT_NCHW reshape { shape: [3,16] }'
    ),
    "in_shape": with_input('name: "A" data_type: TYPE_INT32 dims: 2 is_shape_tensor: true'),
    "in_ragged": with_input('name: "A" data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true'),
    "in_raggedfix": with_input('name: "A" data_type: TYPE_FP32 dims: 4 allow_ragged_batch: true'),
    "in_opt": with_input('name: "A" data_type: TYPE_FP32 dims: 4 optional: true'),
    "in_bf16": with_input('name: "A" data_type: TYPE_BF16 dims: 4'),
    "in_str": with_input('name: "A" data_type: TYPE_STRING dims: 4'),
    "in_label": with_input('name: "A" data_type: TYPE_FP32 dims: 4 label_filename: "x"'),
    "in_slash": with_input('name: "a/b c" data_type: TYPE_FP32 dims: 4'),
    "in_big": with_input('name: "A" data_type: TYPE_FP32 dims: [9223372036854775807, 4]'),
    "in_nonlin": with_input('name: "A" data_type: TYPE_FP32 dims: 4 is_non_linear_format_io: true'),
    "in_resh_mbs0": 'backend: "python"\nmax_batch_size: 0\ninput { name: "A" data_type: TYPE_FP32 dims: 1 reshape { } }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "in_nhwc_mbs0": 'backend: "python"\nmax_batch_size: 0\ninput { name: "A" data_type: TYPE_FP32 dims: [1,4,4,3] format: FORMAT_NHWC }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "in_resh_ok_mbs0": 'backend: "python"\nmax_batch_size: 0\ninput { name: "A" data_type: TYPE_FP32 dims: 4 reshape { shape: [2,2] } }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "in_dup": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "inout_same": with_output('name: "A" data_type: TYPE_FP32 dims: 4'),
    "out_dup": BASE + 'output { name: "B" data_type: TYPE_FP32 dims: 4 }',
    "out_noname": with_output("data_type: TYPE_FP32 dims: 4"),
    "out_notype": with_output('name: "B" dims: 4'),
    "out_nodims": with_output('name: "B" data_type: TYPE_FP32'),
    "out_dim0": with_output('name: "B" data_type: TYPE_FP32 dims: 0'),
    "out_resh": with_output('name: "B" data_type: TYPE_FP32 dims: 4 reshape { shape: [2,2] }'),
    "out_reshbad": with_output('name: "B" data_type: TYPE_FP32 dims: 4 reshape { shape: [2,3] }'),
    "out_label": with_output('name: "B" data_type: TYPE_FP32 dims: 4 label_filename: "no.txt"'),
    "out_shape": with_output('name: "B" data_type: TYPE_INT32 dims: 4 is_shape_tensor: true'),
    "out_labelint": with_output('name: "B" data_type: TYPE_INT32 dims: 4 label_filename: "no.txt"'),
    "bi_ok": BASE
    + 'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "Z" data_type: TYPE_FP32 source_input: "A" }',
    "bi_int32": BASE
    + 'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "Z" data_type: TYPE_INT32 source_input: "A" }',
    "bi_int64": BASE
    + 'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "Z" data_type: TYPE_INT64 source_input: "A" }',
    "bi_nosrc": BASE
    + 'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "Z" data_type: TYPE_FP32 }',
    "bi_two": BASE
    + 'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "Z" data_type: TYPE_FP32 source_input: ["A","A"] }',
    "bi_unk": BASE
    + 'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "Z" data_type: TYPE_FP32 source_input: "Q" }',
    "bi_notarget": BASE
    + 'batch_input { kind: BATCH_ELEMENT_COUNT data_type: TYPE_FP32 source_input: "A" }',
    "bi_item": BASE
    + 'batch_input { kind: BATCH_ITEM_SHAPE target_name: "Z" data_type: TYPE_FP32 source_input: "A" }',
    "bi_flat": BASE
    + 'batch_input { kind: BATCH_ITEM_SHAPE_FLATTEN target_name: "Z" data_type: TYPE_FP32 source_input: "A" }',
    "bi_acc0": BASE
    + 'batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO target_name: "Z" data_type: TYPE_FP32 source_input: "A" }',
    "bi_maxel": BASE
    + 'batch_input { kind: BATCH_MAX_ELEMENT_COUNT_AS_SHAPE target_name: "Z" data_type: TYPE_FP32 source_input: "A" }',
    "bi_notype": BASE
    + 'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "Z" source_input: "A" }',
    "bo_ok": BASE
    + 'batch_output { target_name: "B" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "A" }',
    "bo_nosrc": BASE + 'batch_output { target_name: "B" kind: BATCH_SCATTER_WITH_INPUT_SHAPE }',
    "bo_unk": BASE + 'batch_output { target_name: "B" source_input: "Q" }',
    "bo_unkt": BASE + 'batch_output { target_name: "Q" source_input: "A" }',
    "bo_two": BASE + 'batch_output { target_name: ["B","B"] source_input: "A" }',
    "bo_notarget": BASE + 'batch_output { source_input: "A" }',
}

FOLDERS: dict[str, tuple[str | None, dict[str, str]]] = {
    "out_label_ok": (
        with_output('name: "B" data_type: TYPE_FP32 dims: 4 label_filename: "l.txt"'),
        {"1/model.py": MODEL, "l.txt": "a\nb\n"},
    ),
}

"""Ensembles of two small models, whole and with one thing wrong."""

from __future__ import annotations

from tests.validate.corpus.base import MODEL, Case

FIRST = """
backend: "python"
max_batch_size: 8
input { name: "A" data_type: TYPE_FP32 dims: 4 }
output { name: "B" data_type: TYPE_FP32 dims: 4 }
"""
SECOND = FIRST.replace('"A"', '"C"').replace('"B"', '"D"')
ENDS = """
platform: "ensemble"
max_batch_size: 8
input { name: "IN" data_type: TYPE_FP32 dims: 4 }
output { name: "OUT" data_type: TYPE_FP32 dims: 4 }
"""
STEP_1 = """
step {
  model_name: "@_first" model_version: -1
  input_map { key: "A" value: "IN" } output_map { key: "B" value: "MID" }
}
"""
STEP_2 = """
step {
  model_name: "@_second" model_version: -1
  input_map { key: "C" value: "MID" } output_map { key: "D" value: "OUT" }
}
"""
WHOLE = f"{ENDS}ensemble_scheduling {{ {STEP_1} {STEP_2} }}\n"


def _with(old: str, new: str, text: str = WHOLE) -> str:
    assert old in text, old
    return text.replace(old, new)


_TWO = 'input { name: "E" data_type: TYPE_FP32 dims: 4 }\n'
_DECOUPLED = "model_transaction_policy { decoupled: true }\n"

# Ensemble, first member, second member; the members' names begin with that of the case.
_CASES: dict[str, tuple[str, str, str]] = {
    "whole": (WHOLE, FIRST, SECOND),
    "instances": (WHOLE + "instance_group { count: 1 }", FIRST, SECOND),
    "optimization": (WHOLE + "optimization { priority: PRIORITY_MAX }", FIRST, SECOND),
    "optimization_empty": (WHOLE + "optimization { }", FIRST, SECOND),
    "warmup": (WHOLE + 'model_warmup { name: "w" }', FIRST, SECOND),
    "backend": (WHOLE + 'backend: "python"', FIRST, SECOND),
    "no_platform": (_with('platform: "ensemble"', ""), FIRST, SECOND),
    "no_scheduling": (ENDS, FIRST, SECOND),
    "no_step": (ENDS + "ensemble_scheduling { }", FIRST, SECOND),
    "cache": (WHOLE + "response_cache { enable: true }", FIRST, SECOND),
    "no_model_name": (_with('model_name: "@_first"', ""), FIRST, SECOND),
    "no_input_map": (_with('input_map { key: "A" value: "IN" }', ""), FIRST, SECOND),
    "no_output_map": (_with('output_map { key: "B" value: "MID" }', ""), FIRST, SECOND),
    "empty_key": (_with('key: "A" ', ""), FIRST, SECOND),
    "empty_value": (_with('key: "B" value: "MID"', 'key: "B"'), FIRST, SECOND),
    "typo_in_map": (_with('key: "C" value: "MID"', 'key: "C" value: "MIDDLE"'), FIRST, SECOND),
    "typo_in_key": (_with('key: "C"', 'key: "X"'), FIRST, SECOND),
    "typo_in_output_key": (_with('key: "D"', 'key: "X"'), FIRST, SECOND),
    "output_not_written": (_with('value: "OUT"', 'value: "OTHER"'), FIRST, SECOND),
    "input_unused": (_with('value: "IN"', 'value: "MID"'), FIRST, SECOND),
    "written_twice": (_with('value: "OUT"', 'value: "MID"'), FIRST, SECOND),
    "writes_its_input": (_with('key: "B" value: "MID"', 'key: "B" value: "IN"'), FIRST, SECOND),
    "circle": (
        _with(
            'key: "C" value: "MID" }',
            'key: "C" value: "LOOP" } input_map { key: "E" value: "MID" } ',
        ).replace('key: "D" value: "OUT"', 'key: "D" value: "LOOP"'),
        FIRST,
        SECOND + _TWO,
    ),
    "unread": (
        _with(
            'output_map { key: "D"', 'output_map { key: "F" value: "SIDE" } output_map { key: "D"'
        ),
        FIRST,
        SECOND + 'output { name: "F" data_type: TYPE_FP32 dims: 4 }\n',
    ),
    "output_left_out": (
        WHOLE,
        FIRST,
        SECOND + 'output { name: "F" data_type: TYPE_FP32 dims: 4 }\n',
    ),
    "mapped_twice": (
        _with('key: "A" value: "IN" }', 'key: "A" value: "IN" } input_map { key: "A" value: "X" }'),
        FIRST,
        SECOND,
    ),
    "same_tensor_twice": (
        _with(
            'key: "C" value: "MID" }', 'key: "C" value: "MID" } input_map { key: "E" value: "MID" }'
        ),
        FIRST,
        SECOND + _TWO,
    ),
    "unmapped": (WHOLE, FIRST, SECOND + _TWO),
    "unmapped_optional": (WHOLE, FIRST, SECOND + _TWO.replace("}", "optional: true }")),
    "ensemble_larger": (_with("max_batch_size: 8", "max_batch_size: 64"), FIRST, SECOND),
    "ensemble_smaller": (_with("max_batch_size: 8", "max_batch_size: 4"), FIRST, SECOND),
    "ensemble_unbatched": (
        _with("max_batch_size: 8", "max_batch_size: 0").replace("dims: 4", "dims: [-1, 4]"),
        FIRST,
        SECOND,
    ),
    "ensemble_unbatched_short": (_with("max_batch_size: 8", "max_batch_size: 0"), FIRST, SECOND),
    "member_unbatched": (WHOLE, FIRST, SECOND.replace("size: 8", "size: 0")),
    "member_unbatched_full": (
        WHOLE,
        FIRST,
        SECOND.replace("size: 8", "size: 0").replace("dims: 4", "dims: [-1, 4]"),
    ),
    "member_smaller": (WHOLE, FIRST, SECOND.replace("size: 8", "size: 4")),
    "types": (WHOLE, FIRST, SECOND.replace("FP32", "INT32", 1)),
    "output_type": (
        _with('"OUT" data_type: TYPE_FP32', '"OUT" data_type: TYPE_INT32'),
        FIRST,
        SECOND,
    ),
    "input_type": (_with('"IN" data_type: TYPE_FP32', '"IN" data_type: TYPE_UINT8'), FIRST, SECOND),
    "dims": (WHOLE, FIRST, SECOND.replace("dims: 4", "dims: 5", 1)),
    "dims_wild": (WHOLE, FIRST, SECOND.replace("dims: 4", "dims: -1", 1)),
    "dims_rank": (WHOLE, FIRST, SECOND.replace("dims: 4", "dims: [4, 1]", 1)),
    "dims_output": (
        _with('"OUT" data_type: TYPE_FP32 dims: 4', '"OUT" data_type: TYPE_FP32 dims: 3'),
        FIRST,
        SECOND,
    ),
    "dims_input": (
        _with('"IN" data_type: TYPE_FP32 dims: 4', '"IN" data_type: TYPE_FP32 dims: -1'),
        FIRST,
        SECOND,
    ),
    "dims_reshaped": (
        WHOLE,
        FIRST,
        SECOND.replace("dims: 4", "dims: 4 reshape { shape: [2, 2] }", 1),
    ),
    "dims_reshaped_wrong": (
        WHOLE,
        FIRST,
        SECOND.replace("dims: 4", "dims: [2, 2] reshape { shape: 4 }", 1),
    ),
    "member_missing": (_with("@_second", "@_third"), FIRST, SECOND),
    "member_broken": (WHOLE, FIRST, SECOND + "dynamic_batching { preferred_batch_size: 9 }"),
    "member_broken_tensor": (WHOLE, FIRST, SECOND.replace("dims: 4", "dims: 0", 1)),
    "member_version": (
        _with('"@_second" model_version: -1', '"@_second" model_version: 1'),
        FIRST,
        SECOND,
    ),
    "member_version_3": (
        _with('"@_second" model_version: -1', '"@_second" model_version: 3'),
        FIRST,
        SECOND,
    ),
    "member_version_0": (
        _with('"@_second" model_version: -1', '"@_second" model_version: 0'),
        FIRST,
        SECOND,
    ),
    "member_version_unset": (_with(" model_version: -1", ""), FIRST, SECOND),
    "member_version_minus_2": (
        _with('"@_second" model_version: -1', '"@_second" model_version: -2'),
        FIRST,
        SECOND,
    ),
    "itself": (_with("@_second", "@"), FIRST, SECOND),
    "member_untyped": (WHOLE, FIRST, 'backend: "python"\nmax_batch_size: 8\n'),
    "first_decoupled": (WHOLE, FIRST + _DECOUPLED, SECOND),
    "second_decoupled": (WHOLE, FIRST, SECOND + _DECOUPLED),
    "decoupled_origins": (
        _with(
            'key: "C" value: "MID" }', 'key: "C" value: "MID" } input_map { key: "E" value: "IN" }'
        ),
        FIRST + _DECOUPLED,
        SECOND + _TWO,
    ),
    "two_origins": (
        _with(
            'key: "C" value: "MID" }', 'key: "C" value: "MID" } input_map { key: "E" value: "IN" }'
        ),
        FIRST,
        SECOND + _TWO,
    ),
    "steps_reversed": (f"{ENDS}ensemble_scheduling {{ {STEP_2} {STEP_1} }}\n", FIRST, SECOND),
    "one_step": (
        f"{ENDS}ensemble_scheduling {{ {STEP_1} }}\n".replace('value: "MID"', 'value: "OUT"'),
        FIRST,
        SECOND,
    ),
    "model_twice": (
        _with("@_second", "@_first")
        .replace('key: "C"', 'key: "A"')
        .replace('key: "D"', 'key: "B"'),
        FIRST,
        SECOND,
    ),
    "passes_through": (
        ENDS.replace('"OUT"', '"IN"') + f"ensemble_scheduling {{ {STEP_1} {STEP_2} }}\n",
        FIRST,
        SECOND,
    ),
    "no_output": (_with('output { name: "OUT" data_type: TYPE_FP32 dims: 4 }', ""), FIRST, SECOND),
    "no_input": (_with('input { name: "IN" data_type: TYPE_FP32 dims: 4 }', ""), FIRST, SECOND),
    "output_no_dims": (
        _with('"OUT" data_type: TYPE_FP32 dims: 4', '"OUT" data_type: TYPE_FP32'),
        FIRST,
        SECOND,
    ),
    "output_no_type": (_with('"OUT" data_type: TYPE_FP32 dims: 4', '"OUT" dims: 4'), FIRST, SECOND),
    "output_dim_0": (
        _with('"OUT" data_type: TYPE_FP32 dims: 4', '"OUT" data_type: TYPE_FP32 dims: 0'),
        FIRST,
        SECOND,
    ),
    "input_reshape": (
        _with(
            '"IN" data_type: TYPE_FP32 dims: 4',
            '"IN" data_type: TYPE_FP32 dims: 4 reshape { shape: 3 }',
        ),
        FIRST,
        SECOND,
    ),
    "max_batch_negative": (_with("max_batch_size: 8", "max_batch_size: -1"), FIRST, SECOND),
    "labels_missing": (
        _with(
            '"OUT" data_type: TYPE_FP32 dims: 4',
            '"OUT" data_type: TYPE_FP32 dims: 4 label_filename: "no"',
        ),
        FIRST,
        SECOND,
    ),
    "priority_first": (
        WHOLE,
        FIRST + "dynamic_batching { priority_levels: 2 default_priority_level: 1 }",
        SECOND + "dynamic_batching { }",
    ),
}


def cases() -> list[Case]:
    """Each with its two members."""
    made = []
    for short, (ensemble, first, second) in _CASES.items():
        name = f"ens_{short}"
        files = {
            f"{name}/config.pbtxt": ensemble.replace("@", name),
            f"{name}/1/.keep": "",
            f"{name}_first/config.pbtxt": first,
            f"{name}_first/1/model.py": MODEL,
            f"{name}_second/config.pbtxt": second,
            f"{name}_second/1/model.py": MODEL,
        }
        made.append(Case(name, files))
    return made

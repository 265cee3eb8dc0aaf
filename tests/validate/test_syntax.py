"""The text of a configuration: where the fault is, and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.validate.checking import codes, findings_of
from tests.validate.corpus.base import BASE
from tools.validate.target import Target

PER_PRIORITY = """\
backend: "python"
max_batch_size: 8
dynamic_batching {
  priority_levels: 2
  default_priority_level: 2
  priority_queue_policy {
    key: 1
    value { max_queue_delay_microseconds: 100 }
  }
}
"""


def test_a_delay_per_priority_is_told_where_delays_belong(tmp_path: Path) -> None:
    (finding,) = [f for f in findings_of(PER_PRIORITY, tmp_path) if f.rule.code == "S002"]
    assert (finding.place.line, finding.place.column) == (8, 13)
    assert "max_queue_delay_microseconds is not a field of" in finding.message
    assert "it belongs to dynamic_batching" in finding.message
    assert "Triton has no delay per priority" in finding.message


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("max_queue_size: 100", "it belongs to default_queue_policy"),
        ("max_queue_delay_milliseconds: 5", "did you mean max_queue_delay_microseconds?"),
        ("max_enqueued_requests: 9", "max_queue_size, in default_queue_policy"),
        ("prefered_batch_size: 4", "did you mean preferred_batch_size?"),
        ("max_batch_size: 8", "it belongs to the model configuration"),
        ("quux: 1", "which has preferred_batch_size"),
    ],
)
def test_an_unknown_field_gets_the_right_name_or_place(
    field: str, said: str, tmp_path: Path
) -> None:
    (finding,) = [
        f
        for f in findings_of(f"{BASE}dynamic_batching {{ {field} }}", tmp_path)
        if f.rule.code == "S002"
    ]
    assert said in finding.message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max_batch_size: 8", 'max_batch_size: "8"', "expected a whole number, got"),
        ("TYPE_FP32", '"TYPE_FP32"', "expected TYPE_FP32, without quotes"),
        ("TYPE_FP32", "FP32", "expected TYPE_FP32, without quotes, got FP32"),
        ('"python"', "python", "backend: expected text in quotes, got python"),
        ("max_batch_size: 8", "max_batch_size: 8.5", "expected a whole number, got 8.5"),
    ],
)
def test_a_value_of_the_wrong_sort_is_told_the_right_one(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    found = [f for f in findings_of(BASE.replace(old, new), tmp_path) if f.rule.code == "S003"]
    assert found
    assert said in found[0].message


def test_every_unknown_field_is_named_and_the_rest_is_still_checked(tmp_path: Path) -> None:
    text = BASE + "foo: 1\ndynamic_batching { bar { } preferred_batch_size: 9 }\n"
    found = findings_of(text, tmp_path)
    assert [f.place.line for f in found if f.rule.code == "S002"] == [5, 6]
    assert "C007" in codes(found)


def test_an_unclosed_brace_is_a_syntax_error_at_the_end(tmp_path: Path) -> None:
    (finding,) = findings_of(BASE + "dynamic_batching {\n", tmp_path)
    assert finding.rule.code == "S001"
    assert finding.place.line == 6


def test_a_field_of_a_later_triton_is_named_with_both_releases(tmp_path: Path) -> None:
    text = BASE + "model_metrics { }\n"
    (finding,) = [f for f in findings_of(text, tmp_path) if f.rule.code == "S004"]
    assert "expected Triton 2.52 or later, got Triton 2.51" in finding.message
    assert "S004" not in codes(findings_of(text, tmp_path, Target("cpu", (2, 52))))


def test_two_schedulers_are_named(tmp_path: Path) -> None:
    found = findings_of(BASE + "dynamic_batching { }\nsequence_batching { }\n", tmp_path)
    (finding,) = [f for f in found if f.rule.code == "C019"]
    assert "dynamic_batching and sequence_batching" in finding.message
    assert finding.place.line == 6


def test_a_fault_in_a_list_is_placed_at_its_element(tmp_path: Path) -> None:
    text = BASE + "dynamic_batching {\n  preferred_batch_size: [\n    4,\n    16\n  ]\n}\n"
    (finding,) = [f for f in findings_of(text, tmp_path) if f.rule.code == "C007"]
    assert (finding.place.line, finding.place.column) == (8, 5)
    assert "expected 1 to max_batch_size 8, got 16" in finding.message


def test_a_fault_of_dims_is_placed_at_the_dims(tmp_path: Path) -> None:
    text = BASE.replace("dims: 4 }", "\n  format: FORMAT_NCHW\n  dims: [1, 3, 224, 224]\n}", 1)
    (finding,) = [f for f in findings_of(text, tmp_path) if f.rule.code == "C034"]
    assert (finding.place.line, finding.place.column) == (5, 10)
    assert "drop the first dim, 1, which is the batch" in finding.message


def test_a_policy_is_placed_where_its_key_stands(tmp_path: Path) -> None:
    text = PER_PRIORITY.replace("max_queue_delay_microseconds: 100", "").replace(
        "  priority_queue_policy",
        "  priority_queue_policy { key: 2 value { } }\n  priority_queue_policy",
    )
    text = text.replace("key: 1\n", "key: 7\n")
    (finding,) = [f for f in findings_of(text, tmp_path) if f.rule.code == "C009"]
    assert finding.place.line == 7


@pytest.mark.parametrize(
    ("written", "good"),
    [
        ('"a\\x41\\101\\u00e9\\?"', True),
        ('"\\q"', False),
        ('"\\X41"', False),
        ('"a\0b"', False),
        ("'single'  # and a comment\n 'joined'", True),
    ],
)
def test_strings_are_read_as_triton_reads_them(written: str, good: bool, tmp_path: Path) -> None:
    text = f"{BASE}parameters {{ key: {written} value {{ string_value: 'x' }} }}\n"
    assert ("S001" not in codes(findings_of(text, tmp_path))) is good


def test_escaped_names_are_compared_as_what_they_stand_for(tmp_path: Path) -> None:
    text = BASE + 'batch_input { kind: BATCH_ELEMENT_COUNT source_input: "\\x41" }\n'
    assert not [f for f in findings_of(text, tmp_path) if "source_input" in f.message]


def test_what_is_not_of_its_sort_does_not_hide_the_rest(tmp_path: Path) -> None:
    text = BASE + (
        'dynamic_batching {\n  max_queue_delay_microseconds: "5"\n'
        "  preferred_batch_size: [4, 16]\n  priority_levels: { x: 1 }\n}\n"
    )
    found = findings_of(text, tmp_path)
    assert [(f.rule.code, f.place.line) for f in found if f.rule.code[0] == "S"] == [
        ("S003", 6),
        ("S003", 8),
    ]
    assert [f.place.line for f in found if f.rule.code == "C007"] == [7]

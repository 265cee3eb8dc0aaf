"""What the server accepts although it harms: each lint on a case, and off on its neighbour."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.validate.checking import codes, findings_in, findings_of
from tests.validate.corpus.base import BASE, HEAD, INPUT, MODEL, OUTPUT, with_input
from tests.validate.corpus.ensembles import FIRST, SECOND, WHOLE
from tools.export import COMMITTED
from tools.validate.findings import Severity
from tools.validate.target import Target


def batching(fields: str, instances: int = 1, base: str = BASE) -> str:
    group = f"instance_group {{ count: {instances} kind: KIND_CPU }}\n"
    return f"{base}{group}dynamic_batching {{ {fields} }}\n"


TIMEOUT = "default_queue_policy {{ default_timeout_microseconds: {} {} }}"
PRIORITY = "priority_levels: 2 default_priority_level: 2 {}"


def wild(ragged: str) -> str:
    return batching("", base=with_input(f'name: "A" data_type: TYPE_UINT8 dims: -1 {ragged}'))


PAIRS = {
    "C101": (
        batching(TIMEOUT.format(100, "") + " max_queue_delay_microseconds: 100"),
        batching(TIMEOUT.format(101, "") + " max_queue_delay_microseconds: 100"),
    ),
    "C102": (
        batching("default_queue_policy { allow_timeout_override: true }"),
        batching(TIMEOUT.format(100, "allow_timeout_override: true")),
    ),
    "C103": (batching("default_priority_level: 1"), batching(PRIORITY.format(""))),
    "C104": (
        batching("max_queue_delay_microseconds: 5", base=BASE.replace("size: 8", "size: 1")),
        batching("", base=BASE.replace("size: 8", "size: 1")),
    ),
    "C105": (
        batching("preferred_batch_size: 4 max_queue_delay_microseconds: 5"),
        batching("preferred_batch_size: [4, 8] max_queue_delay_microseconds: 5"),
    ),
    "C106": (
        batching("preferred_batch_size: [4, 8] max_queue_delay_microseconds: 5"),
        batching("preferred_batch_size: 4"),
    ),
    "C107": (wild(""), wild("allow_ragged_batch: true")),
    "C113": (
        batching(PRIORITY.format("")),
        batching(PRIORITY.format("priority_queue_policy { key: 2 value { max_queue_size: 9 } }")),
    ),
    "C117": (batching(TIMEOUT.format(100, "")), batching(TIMEOUT.format(100, ""), instances=2)),
    "C118": (
        batching(TIMEOUT.format(100, "") + " max_queue_delay_microseconds: 5", instances=2),
        batching(TIMEOUT.format(100, ""), instances=2),
    ),
    "C119": (batching("max_queue_delay_microseconds: 5"), batching("")),
    "C120": (BASE, batching("")),
    "C121": (
        batching("", base=BASE + 'input { name: "A" data_type: TYPE_FP32 dims: 4 }\n'),
        batching(""),
    ),
}


@pytest.mark.parametrize("code", PAIRS)
def test_a_lint_sees_its_fault_and_not_its_neighbour(code: str, tmp_path: Path) -> None:
    bad, good = PAIRS[code]
    found = findings_of(bad, tmp_path)
    assert code in codes(found)
    assert {f.rule.severity for f in found if f.rule.code == code} == {Severity.WARNING}
    assert code not in codes(findings_of(good, tmp_path))


def test_broken_ordering_is_a_matter_of_the_release(tmp_path: Path) -> None:
    text = batching("preserve_ordering: true")
    for server, broken in (((2, 60), False), ((2, 61), True), ((2, 71), True), ((2, 72), False)):
        assert ("C109" in codes(findings_of(text, tmp_path, Target("cpu", server)))) is broken


def test_onnx_runtime_on_a_cpu_makes_two_instances_unless_told(tmp_path: Path) -> None:
    text = BASE.replace('"python"', '"onnxruntime"') + "dynamic_batching { }\n"
    assert "C110" in codes(findings_of(text, tmp_path, Target("cpu")))
    assert "C110" not in codes(findings_of(text, tmp_path, Target("gpu")))


METRICS = "model_metrics { metric_control { %s } }\n"
FAMILY = 'metric_identifier { family: "f" } '


def test_metrics_need_a_family_and_buckets(tmp_path: Path) -> None:
    newer = Target("cpu", (2, 52))
    whole = FAMILY + "histogram_options { buckets: 1 }"
    for fields, faulty in ((whole, False), (FAMILY, True), (whole[len(FAMILY) :], True)):
        found = findings_of(batching("", base=BASE + METRICS % fields), tmp_path, newer)
        assert ("C022" in codes(found)) is faulty


def test_dali_takes_no_strings(tmp_path: Path) -> None:
    text = BASE.replace('"python"', '"dali"')
    assert "C048" not in codes(findings_of(text, tmp_path, Target("gpu")))
    text = text.replace("TYPE_FP32", "TYPE_STRING", 1)
    assert "C048" in codes(findings_of(text, tmp_path, Target("gpu")))


def test_a_size_that_onnx_runtime_would_choose_is_noted(tmp_path: Path) -> None:
    for io, completed in ((INPUT + OUTPUT, False), (INPUT, True), (OUTPUT, True), ("", True)):
        text = f'backend: "onnxruntime"\n{io}'
        assert ("R109" in codes(findings_of(text, tmp_path, Target("gpu")))) is completed


def test_onnx_runtime_turns_batching_on_where_it_completes(tmp_path: Path) -> None:
    for io, is_off in ((INPUT + OUTPUT, True), (INPUT, False), ("", False)):
        text = HEAD.replace("python", "onnxruntime") + io
        assert ("C120" in codes(findings_of(text, tmp_path, Target("gpu")))) is is_off


def test_a_resource_is_global_everywhere_or_nowhere(tmp_path: Path) -> None:
    group = 'instance_group {{ rate_limiter {{ resources {{ name: "R" count: 1 {} }} }} }}\n'
    one, other = group.format(""), group.format("global: true")
    assert "C122" in codes(findings_of(BASE + one + other, tmp_path))
    assert "C122" not in codes(findings_of(BASE + one + one, tmp_path))


def ensemble(folder: Path, first: str, second: str, whole: str = WHOLE) -> Path:
    for name, text in (("x", whole.replace("@", "x")), ("x_first", first), ("x_second", second)):
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "config.pbtxt").write_text(text, encoding="utf-8")
        if name != "x":
            (folder / name / "1" / "model.py").write_text(MODEL, encoding="utf-8")
    return folder


BATCHING = "dynamic_batching { }\n"
LEVELS = "dynamic_batching { priority_levels: 2 default_priority_level: 2 }\n"
TIMED = "dynamic_batching { default_queue_policy { default_timeout_microseconds: 60000 } }\n"


@pytest.mark.parametrize(
    ("code", "bad", "good"),
    [
        ("E101", (BATCHING, LEVELS), (LEVELS, LEVELS)),
        ("E102", (TIMED, TIMED), (TIMED, BATCHING)),
        ("E104", ("", BATCHING), (BATCHING, BATCHING)),
    ],
)
def test_a_lint_of_ensembles_sees_its_fault_and_not_its_neighbour(
    code: str, bad: tuple[str, str], good: tuple[str, str], tmp_path: Path
) -> None:
    first, second = bad
    assert code in codes(findings_in(ensemble(tmp_path / "bad", FIRST + first, SECOND + second)))
    first, second = good
    whole = findings_in(ensemble(tmp_path / "good", FIRST + first, SECOND + second))
    assert code not in codes(whole)


def test_timeouts_are_compared_with_the_objective(tmp_path: Path) -> None:
    root = ensemble(tmp_path, FIRST + TIMED, SECOND + TIMED)
    for slo_p95_ms, harmful in ((119, True), (120, False)):
        found = findings_in(root, Target("cpu", slo_p95_ms=slo_p95_ms))
        assert ("E102" in codes(found)) is harmful


def test_an_ensemble_that_does_not_batch_over_members_that_do(tmp_path: Path) -> None:
    whole = WHOLE.replace("size: 8", "size: 0").replace("dims: 4", "dims: [-1, 4]")
    root = ensemble(tmp_path, FIRST + BATCHING, SECOND + BATCHING, whole)
    assert codes(findings_in(root)) == {"E103"}


def test_the_shipped_repository_is_clean() -> None:
    assert findings_in(COMMITTED, Target("gpu")) == []


def test_on_a_cpu_the_gpu_repository_is_told_what_is_left_over() -> None:
    found = findings_in(COMMITTED, Target("cpu"))
    assert codes(found) == {"C041", "C043"}
    assert all("tandem export --target cpu" in finding.rule.mend for finding in found)


ONNX = BASE.replace('"python"', '"onnxruntime"')
ACCELERATOR = 'optimization {{ execution_accelerators {{ {} {{ name: "{}" }} }} }}\n'


@pytest.mark.parametrize(
    ("code", "bad", "good"),
    [
        (
            "C052",
            BASE.replace('"python"', '"tensorrt"') + "instance_group { kind: KIND_CPU }",
            BASE.replace('"python"', '"tensorrt"') + "instance_group { kind: KIND_GPU }",
        ),
        (
            "C123",
            ONNX + ACCELERATOR.format("gpu_execution_accelerator", "tensorflow"),
            ONNX + ACCELERATOR.format("gpu_execution_accelerator", "tensorrt"),
        ),
        (
            "C123",
            ONNX + ACCELERATOR.format("cpu_execution_accelerator", "tensorrt"),
            ONNX + ACCELERATOR.format("cpu_execution_accelerator", "openvino"),
        ),
        ("C124", BASE.replace('"python"', '"mine"'), BASE),
        ("C043", BASE.replace('"python"', '"pyhton"'), BASE.replace('"python"', '"mine"')),
    ],
)
def test_what_only_the_gpu_target_has(code: str, bad: str, good: str, tmp_path: Path) -> None:
    assert code in codes(findings_of(bad, tmp_path, Target("gpu")))
    assert code not in codes(findings_of(good, tmp_path, Target("gpu")))


def test_a_member_that_its_backend_completes_is_noted(tmp_path: Path) -> None:
    untyped = 'backend: "onnxruntime"\nmax_batch_size: 8\n'
    root = ensemble(tmp_path / "untyped", FIRST, untyped)
    assert "E105" in codes(findings_in(root, Target("gpu")))
    assert "E105" not in codes(findings_in(ensemble(tmp_path / "typed", FIRST, SECOND)))

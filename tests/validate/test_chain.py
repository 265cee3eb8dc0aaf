"""The batch-axis proof offline: the shipped repository passes, and each kind of fault is found."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ensemble.errors import CheckFailed, InvalidInput, ServingError
from ensemble.transform import Transform
from postprocess.answer import Answerer
from preprocess.decode import Preprocessor
from preprocess.guard import Limits
from tests.conftest import ROOT, SAMPLES
from tools.validate.apart import check_chain_apart
from tools.validate.chain import check_chain, check_stages
from tools.validate.findings import Place, Severity
from tools.validate.rules.preprocessing import OF_STAGE
from tools.validate.stages import Rows, Stage, Stages, load
from tools.validate.variants import damaged, variants

Array = np.ndarray[Any, Any]

SHIPPED = ROOT / "model_repository"
SEED = 20240805
CLASSES, TOP_K, LARGEST = 7, 3, 16
RNG = np.random.default_rng
ENCODED = variants([path.read_bytes() for path in sorted(SAMPLES.glob("*.??g"))], 8, RNG(SEED))

# A small chain: the real first and last stage, and a linear classifier.


def preprocess() -> Stage:
    return Preprocessor(
        Transform(resize_shorter=32, crop_height=32, crop_width=32), Limits(), LARGEST
    )


WEIGHTS = RNG(1).normal(size=(3 * 32 * 32, CLASSES)).astype(np.float32) / 10


def classify(inputs: list[Array]) -> list[Rows | ServingError]:
    """Row by row, so that it is right to the last bit."""
    return [{"LOGITS": np.stack([row.reshape(-1) @ WEIGHTS for row in rows])} for rows in inputs]


def answer(logits: list[Array]) -> Sequence[Rows | ServingError]:
    labels = np.array([f"class {n}".encode() for n in range(CLASSES)], object)
    return Answerer(labels, TOP_K)(logits)


@pytest.fixture
def stages() -> Stages:
    return Stages(preprocess(), classify, answer, LARGEST)


def found(stages: Stages) -> list[tuple[str, str]]:
    findings = check_stages(stages, ENCODED, RNG(SEED), Place(Path("repository")))
    return [(finding.rule.name, finding.message) for finding in findings]


def test_the_small_chain_passes(stages: Stages) -> None:
    assert found(stages) == []


@pytest.mark.parametrize("largest", [1, 2, 5, 8, 9])
def test_it_passes_whatever_the_largest_batch(stages: Stages, largest: int) -> None:
    def strict(inputs: list[Array]) -> Sequence[Rows | ServingError]:
        assert sum(map(len, inputs)) <= largest
        return stages.preprocess(inputs)

    assert found(replace(stages, preprocess=strict, max_batch_size=largest)) == []


# Red: each kind of fault in each stage


def with_rows(stage: Stage, change: Callable[[Array], Array]) -> Stage:
    """The right outputs, the rows of the whole batch changed in each."""

    def wrong(inputs: list[Array]) -> Sequence[Rows | ServingError]:
        results = stage(inputs)
        good = [one for one in results if not isinstance(one, ServingError)]
        if not good:
            return results
        ends = np.cumsum([len(next(iter(one.values()))) for one in good])[:-1]
        for name in good[0]:
            rows = change(np.concatenate([one[name] for one in good]))
            for one, part in zip(good, np.split(rows, ends), strict=True):
                one[name] = part
        return results

    return wrong


def swapped(rows: Array) -> Array:
    return np.concatenate([rows[1:2], rows[:1], rows[2:]]) if len(rows) > 1 else rows


def collapsed(rows: Array) -> Array:
    return np.repeat(rows[:1], len(rows), axis=0)


def mixed(rows: Array) -> Array:
    return rows - rows.mean(axis=0, keepdims=True) * np.float32(0.1) if len(rows) > 1 else rows


def in_doubles(rows: Array) -> Array:
    return rows.astype(np.float64) if len(rows) > 1 and rows.dtype.kind == "f" else rows


def fails(stage: Stage) -> Stage:
    def wrong(inputs: list[Array]) -> Sequence[Rows | ServingError]:
        if sum(map(len, inputs)) > 1:
            raise RuntimeError("Reshape_7: the batch must be 1")
        return stage(inputs)

    return wrong


STAGES = ("preprocess", "classifier", "postprocess")
CHANGES: dict[str, Callable[[Stage], Stage]] = {
    "swaps": lambda stage: with_rows(stage, swapped),
    "collapses": lambda stage: with_rows(stage, collapsed),
    "form": lambda stage: with_rows(stage, in_doubles),
    "fails": fails,
}


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("stage", STAGES)
def test_each_fault_is_found_in_its_stage(stages: Stages, stage: str, kind: str) -> None:
    wrong = replace(stages, **{stage: CHANGES[kind](getattr(stages, stage))})
    ((name, message),) = found(wrong)
    assert name == OF_STAGE[stage][kind].name, message
    assert message.startswith(f"{stage}: ")


@pytest.mark.parametrize("stage", STAGES[:2])
def test_rows_that_mix_are_found(stages: Stages, stage: str) -> None:
    wrong = replace(stages, **{stage: with_rows(getattr(stages, stage), mixed)})
    ((name, _),) = found(wrong)
    assert name == f"{stage}-mixes-rows"


def test_scores_over_the_batch_are_found(stages: Stages) -> None:
    def over_batch(logits: list[Array]) -> Sequence[Rows | ServingError]:
        results = answer(logits)
        whole = np.concatenate([one["SCORE"] for one in results if isinstance(one, dict)])
        for one in results:
            if isinstance(one, dict):
                one["SCORE"] = one["SCORE"] / whole.sum()
        return results

    ((name, message),) = found(replace(stages, postprocess=over_batch))
    assert name == "postprocess-mixes-rows"
    assert "output SCORE" in message


def test_only_the_full_batch_is_wrong(stages: Stages) -> None:
    def last_lost(rows: Array) -> Array:
        return np.concatenate([rows[:-1], rows[:1]]) if len(rows) == LARGEST else rows

    ((name, message),) = found(replace(stages, classifier=with_rows(classify, last_lost)))
    assert name == "classifier-swaps-rows"
    assert "mixed, 11 items" in message


def test_a_row_too_few_is_a_matter_of_form(stages: Stages) -> None:
    def short(inputs: list[Array]) -> list[Rows | ServingError]:
        return classify([rows[:1] for rows in inputs])

    ((name, message),) = found(replace(stages, classifier=short))
    assert name == "classifier-changes-form"
    assert "output LOGITS: expected 2 rows, got 1" in message


def test_a_response_too_few_is_a_matter_of_form(stages: Stages) -> None:
    ((name, message),) = found(replace(stages, classifier=lambda inputs: classify(inputs)[:1]))
    assert name == "classifier-changes-form"
    assert "responses, got 1" in message


def test_a_bad_image_that_fails_its_batch_is_found(stages: Stages) -> None:
    right = stages.preprocess

    def together(inputs: list[Array]) -> Sequence[Rows | ServingError]:
        results = right(inputs)
        error = next((one for one in results if isinstance(one, ServingError)), None)
        return results if error is None else [error for _ in inputs]

    ((name, message),) = found(replace(stages, preprocess=together))
    assert name == "preprocess-bad-touches-neighbour"
    assert "beside a bad item a good one gets" in message


def test_a_bad_image_that_shifts_its_neighbours_is_found(stages: Stages) -> None:
    right = stages.preprocess

    def shifted(inputs: list[Array]) -> Sequence[Rows | ServingError]:
        results = list(right(inputs))
        if any(isinstance(one, ServingError) for one in results):
            good = [n for n, one in enumerate(results) if not isinstance(one, ServingError)]
            for n in good[1:]:
                rows = results[n]
                assert isinstance(rows, dict)
                rows["PIXELS"] = np.roll(rows["PIXELS"], 1, axis=0) + np.float32(1)
        return results

    ((name, _),) = found(replace(stages, preprocess=shifted))
    assert name == "preprocess-bad-touches-neighbour"


@pytest.mark.parametrize("stage", ["classifier", "postprocess"])
def test_nan_that_spreads_is_found(stages: Stages, stage: str) -> None:
    right = getattr(stages, stage)

    def spreads(inputs: list[Array]) -> Sequence[Rows | ServingError]:
        if all(np.isfinite(rows).all() for rows in inputs):
            return right(inputs)  # type: ignore[no-any-return]
        return [InvalidInput("NaN") for _ in inputs]

    ((name, _),) = found(replace(stages, **{stage: spreads}))
    assert name == f"{stage}-bad-touches-neighbour"


def test_a_stage_that_raises_on_a_bad_image_is_found(stages: Stages) -> None:
    def raises(inputs: list[Array]) -> Sequence[Rows | ServingError]:
        if not all(np.isfinite(rows).all() for rows in inputs):
            raise ValueError("NaN")
        return classify(inputs)

    ((name, message),) = found(replace(stages, classifier=raises))
    assert name == "classifier-bad-touches-neighbour"
    assert "ValueError: NaN" in message


def test_a_stage_that_fails_alone_does_not_start(stages: Stages) -> None:
    def broken(inputs: list[Array]) -> Sequence[Rows | ServingError]:
        raise RuntimeError("no such node")

    ((name, message),) = found(replace(stages, classifier=broken))
    assert name == "chain-does-not-start"
    assert "one image alone: classifier: RuntimeError: no such node" in message


# What is not a fault


def test_rounding_passes(stages: Stages) -> None:
    def rounded(rows: Array) -> Array:
        return rows * np.float32(1 + 2e-6) if len(rows) > 1 else rows

    assert found(replace(stages, classifier=with_rows(classify, rounded))) == []


def test_answers_that_are_alike_are_said_and_not_called_a_fault(stages: Stages) -> None:
    def certain(inputs: list[Array]) -> list[Rows | ServingError]:
        one = np.array([[50.0, 9, 8, 7, 6, 5, 4]], np.float32)
        return [{"LOGITS": one.repeat(len(rows), axis=0)} for rows in inputs]

    names = [name for name, _ in found(replace(stages, classifier=certain))]
    assert names == ["answers-alike", "answers-alike"]


def test_classes_too_close_to_be_ordered_are_said(stages: Stages) -> None:
    def close(inputs: list[Array]) -> list[Rows | ServingError]:
        return [{"LOGITS": one["LOGITS"] * np.float32(1e-6)} for one in classify(inputs)]  # type: ignore[index]

    ((name, message),) = found(replace(stages, classifier=close))
    assert name == "answers-alike"
    assert "too close to each other" in message


# Repositories


def test_the_shipped_repository_passes() -> None:
    """With its real classifier, unless ``make setup`` has not built it."""
    if not (SHIPPED / "classifier/1/model.onnx").exists():
        pytest.skip("the example classifier is not built")
    assert list(check_chain(SHIPPED, [SAMPLES], RNG(SEED))) == []


def test_a_limit_on_the_batches_tried_is_said() -> None:
    if not (SHIPPED / "classifier/1/model.onnx").exists():
        pytest.skip("the example classifier is not built")
    (finding,) = check_chain(SHIPPED, [SAMPLES], RNG(SEED), memory_bytes=0)
    assert finding.rule.name == "largest-batch-not-tried"
    assert "tried up to 7 images of the 64 that are allowed" in finding.message


def test_stages_that_end_their_process_are_a_finding(copy: Path) -> None:
    model = copy / "postprocess" / "1" / "model.py"
    model.write_text("import os\nos._exit(3)\n", encoding="utf-8")
    (finding,) = check_chain_apart(copy, [SAMPLES], 10**9)
    assert finding.rule.name == "chain-does-not-start"
    assert "ended without a word" in finding.message


def test_a_repository_of_another_kind_is_said_to_be_not_run(tmp_path: Path) -> None:
    (tmp_path / "resnet" / "1").mkdir(parents=True)
    (finding,) = check_chain(tmp_path, [SAMPLES], RNG(SEED))
    assert (finding.rule.name, finding.rule.severity) == ("chain-not-run", Severity.NOTE)
    assert "the repository lacks ensemble/config.pbtxt, preprocess/config.pbtxt" in finding.message


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The shipped repository without the classifier's own file, which is large."""
    copied = shutil.copytree(SHIPPED, tmp_path / "copy", ignore=shutil.ignore_patterns("*.onnx"))
    (copied / "classifier/1/model.onnx").write_bytes(b"not a model")
    return Path(copied)


def test_a_model_that_does_not_load_is_named(copy: Path) -> None:
    (finding,) = check_chain(copy, [SAMPLES], RNG(SEED))
    assert finding.rule.name == "chain-does-not-start"


def test_labels_that_do_not_fit_are_named(copy: Path) -> None:
    (copy / "postprocess" / "1" / "labels.txt").write_text("cat\ndog\n")
    (finding,) = check_chain(copy, [SAMPLES], RNG(SEED))
    assert finding.rule.name == "chain-does-not-start"
    assert "expected 1000 names, got 2" in finding.message


def test_a_stage_of_another_backend_is_not_run(copy: Path) -> None:
    path = copy / "preprocess" / "config.pbtxt"
    path.write_text(path.read_text().replace('backend: "python"', 'backend: "dali"'))
    (finding,) = check_chain(copy, [SAMPLES], RNG(SEED))
    assert finding.rule.name == "chain-not-run"
    assert "preprocess runs in the backend 'dali'" in finding.message


def test_a_model_of_somebody_else_is_not_run(copy: Path) -> None:
    path = copy / "postprocess" / "1" / "model.py"
    path.write_text("class TritonPythonModel:\n    def initialize(self, args): pass\n")
    (finding,) = check_chain(copy, [SAMPLES], RNG(SEED))
    assert finding.rule.name == "chain-not-run"
    assert "postprocess/1/model.py has no `stage`" in finding.message


def test_stages_load_twice_in_a_process_that_has_imported_nothing(copy: Path) -> None:
    """Their libraries can't be imported twice, so loading must leave them imported."""
    program = (
        "import sys, pathlib\n"
        "from tools.validate import stages\n"
        "for _ in range(2):\n"
        "    config = stages._config(pathlib.Path(sys.argv[1]) / 'preprocess/config.pbtxt')\n"
        "    stage = stages._stage(pathlib.Path(sys.argv[1]) / 'preprocess', config)\n"
        "import nvidia.dali.fn\n"
    )
    command = [sys.executable, "-c", program, str(copy)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_loading_leaves_nothing_behind(copy: Path) -> None:
    before = sorted(copy.rglob("*"))
    list(check_chain(copy, [SAMPLES], RNG(SEED)))
    assert sorted(copy.rglob("*")) == before
    assert "triton_python_backend_utils" not in sys.modules


def test_a_transform_that_does_not_fit_its_configuration_is_named(copy: Path) -> None:
    path = copy / "preprocess/1/transform.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"crop_width": 200}))
    (finding,) = check_chain(copy, [SAMPLES], RNG(SEED))
    assert finding.rule.name == "chain-does-not-start"
    assert "(3, 224, 200)" in finding.message


def test_the_stages_are_those_of_the_configuration() -> None:
    if not (SHIPPED / "classifier/1/model.onnx").exists():
        pytest.skip("the example classifier is not built")
    stages = load(SHIPPED)
    assert stages.max_batch_size == 64
    assert isinstance(stages.preprocess, Preprocessor)
    assert stages.preprocess.limits == Limits()


# Variants


def test_a_single_image_gives_enough_different_ones() -> None:
    made = variants([(SAMPLES / "rocket.jpg").read_bytes()], 12, RNG(SEED))
    assert len(set(made)) == 12


def test_images_that_nobody_can_read_are_refused() -> None:
    with pytest.raises(CheckFailed, match="expected one that can be decoded, got 2 others"):
        variants([b"", b"<html>"], 8, RNG(SEED))


def test_the_damaged_image_passes_the_guard_and_not_the_decoder() -> None:
    (result,) = preprocess()([np.frombuffer(damaged(ENCODED[0]), np.uint8)[None]])
    assert isinstance(result, InvalidInput)
    assert "damaged or cut short" in str(result)

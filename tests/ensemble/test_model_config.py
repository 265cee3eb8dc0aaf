"""Configurations as a function of what is deployed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment, Ends, configurations
from ensemble.profiles import PROFILES
from ensemble.transform import Transform


@pytest.mark.parametrize("profile", PROFILES)
def test_no_preferred_size_is_above_the_maximum(profile: str) -> None:
    """Triton refuses such a model when it loads it."""
    for fields in configurations(Deployment(profile=profile, max_batch_size=4)).values():
        batching = fields.get("dynamic_batching", {})
        assert all(size <= 4 for size in batching.get("preferred_batch_size", []))


def test_the_cpu_target_has_as_many_preprocess_instances_as_classifiers() -> None:
    found = configurations(Deployment(target="cpu", instances=5))
    assert found["preprocess"]["instance_group"] == [{"kind": "KIND_CPU", "count": 5}]
    assert found["classifier"]["instance_group"] == [{"kind": "KIND_CPU", "count": 5}]


def test_on_a_cpu_a_batch_ends_at_four_unless_the_profile_says_otherwise() -> None:
    found = configurations(Deployment(target="cpu"))
    assert found["preprocess"]["dynamic_batching"] == {"preferred_batch_size": [4]}
    assert found["classifier"]["dynamic_batching"] == {"preferred_batch_size": [4]}
    assert found["postprocess"]["dynamic_batching"] == {}
    recipe = configurations(Deployment(target="cpu", profile="recipe-bulk"))["classifier"]
    assert recipe["dynamic_batching"]["preferred_batch_size"] == [16, 32, 64]
    baseline = configurations(Deployment(target="cpu", profile="baseline"))
    assert "dynamic_batching" not in baseline["classifier"]
    assert configurations(Deployment())["classifier"]["dynamic_batching"] == {}


def test_fused_is_one_model_that_clients_cannot_tell_from_the_ensemble() -> None:
    deployment = Deployment(target="cpu", instances=3, top_k=7, fused=True)
    found = configurations(deployment)
    assert found.keys() == {"ensemble"}
    ensemble = configurations(replace(deployment, fused=False))["ensemble"]
    assert found["ensemble"]["input"] == [{**ensemble["input"][0], "allow_ragged_batch": True}]
    for field in ("name", "max_batch_size", "output"):
        assert found["ensemble"][field] == ensemble[field]
    assert found["ensemble"]["instance_group"] == [{"kind": "KIND_CPU", "count": 3}]


@pytest.mark.parametrize(
    ("profile", "batching"),
    [
        ("interactive", {"preferred_batch_size": [2]}),
        ("recipe-bulk", PROFILES["recipe-bulk"].dynamic_batching("classifier")),
        ("baseline", None),
    ],
)
def test_fused_batches_as_the_profile_has_it_for_the_classifier(
    profile: str, batching: dict[str, object] | None
) -> None:
    found = configurations(Deployment(target="cpu", profile=profile, fused=True))["ensemble"]
    assert found.get("dynamic_batching") == batching


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fused": True}, "fused: expected target cpu, got gpu"),
        ({"target": "tpu"}, "target"),
        ({"profile": "fast"}, "profile"),
        ({"target": "cpu", "preprocess": "dali"}, "Python backend only"),
        ({"top_k": 1001}, "top_k"),
        ({"instances": 0}, "instances"),
        ({"scores": "relu"}, "scores"),
        ({"max_batch_size": 3052}, "at most 3051, .* takes 200000000 pixels .* got 3052"),
        ({"max_batch_size": 2, "max_image_pixels": 1000}, "at most 1, .* takes 4000 pixels"),
    ],
)
def test_what_cannot_be_rendered_is_refused_by_name(change: dict[str, object], said: str) -> None:
    with pytest.raises(ContractMismatch, match=said):
        Deployment(**change)  # type: ignore[arg-type]


def test_the_largest_batch_may_be_what_preprocess_takes() -> None:
    assert Deployment(max_batch_size=3051).max_batch_size == 3051
    assert Deployment(max_batch_size=1, max_image_pixels=1000).max_batch_size == 1


# On the CPU levels are handed on, which the classifier's stage normalises.
@pytest.mark.parametrize(("target", "handed_on"), [("cpu", "TYPE_UINT8"), ("gpu", "TYPE_FP16")])
def test_a_classifier_keeps_its_own_names_and_the_others_keep_ours(
    target: str, handed_on: str
) -> None:
    deployment = Deployment(
        target=target,
        classes=7,
        transform=Transform(layout="HWC", dtype="FP16"),
        ends=Ends("x:0", "y:0", "TYPE_FP16"),
    )
    found = configurations(deployment)
    (taken,), (given,) = found["classifier"]["input"], found["classifier"]["output"]
    assert taken == {"name": "x:0", "data_type": handed_on, "dims": [224, 224, 3]}
    assert given == {"name": "y:0", "data_type": "TYPE_FP16", "dims": [7]}
    assert found["preprocess"]["output"] == [taken | {"name": "PIXELS"}]
    assert found["postprocess"]["input"] == [given | {"name": "LOGITS"}]
    steps = {step["model_name"]: step for step in found["ensemble"]["ensemble_scheduling"]["step"]}
    assert steps["preprocess"]["output_map"] == {"PIXELS": "PIXELS"}
    assert steps["classifier"]["input_map"] == {"x:0": "PIXELS"}
    assert steps["classifier"]["output_map"] == {"y:0": "LOGITS"}
    assert steps["postprocess"]["input_map"] == {"LOGITS": "LOGITS"}


@pytest.mark.parametrize("kind", ["sigmoid", "none"])
def test_scores_that_are_not_softmax_stand_in_the_configuration(kind: str) -> None:
    parameters = configurations(Deployment(scores=kind))["postprocess"]["parameters"]
    assert parameters == {"scores": {"string_value": kind}}
    assert "parameters" not in configurations(Deployment())["postprocess"]

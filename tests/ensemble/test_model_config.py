"""Configurations as a function of what is deployed."""

from __future__ import annotations

import pytest

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment, configurations
from ensemble.profiles import PROFILES


@pytest.mark.parametrize("profile", PROFILES)
def test_no_preferred_size_is_above_the_maximum(profile: str) -> None:
    """Triton refuses such a model when it loads it."""
    for fields in configurations(Deployment(profile=profile, max_batch_size=4)).values():
        batching = fields.get("dynamic_batching", {})
        assert all(size <= 4 for size in batching.get("preferred_batch_size", []))


def test_the_cpu_target_has_half_as_many_preprocess_instances() -> None:
    found = configurations(Deployment(target="cpu", instances=5))
    assert found["preprocess"]["instance_group"] == [{"kind": "KIND_CPU", "count": 3}]
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"target": "tpu"}, "target"),
        ({"profile": "fast"}, "profile"),
        ({"target": "cpu", "preprocess": "dali"}, "Python backend only"),
        ({"top_k": 1001}, "top_k"),
        ({"instances": 0}, "instances"),
    ],
)
def test_what_cannot_be_rendered_is_refused_by_name(change: dict[str, object], said: str) -> None:
    with pytest.raises(ContractMismatch, match=said):
        Deployment(**change)  # type: ignore[arg-type]

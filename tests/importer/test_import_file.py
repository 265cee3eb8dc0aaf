"""The TOML file of a transform, and the JSON file that it becomes: values that nothing can do."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ensemble.errors import ContractMismatch
from ensemble.presets import read_toml
from ensemble.transform import MAX_SIDE, Transform
from tests.importer.test_import_plan import MODEL, TOML, taking
from tools.importer.pixels import declared_size, fitted_transform

LONG = "9" * 400  # no float is as large
FIELDS = tuple(vars(Transform()))


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "t.toml"
    path.write_text(TOML)
    return path


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('filter = "bilinear"', r"got 'bilinear'; did you mean 'triangular'\?"),
        ('filter = "bicubic"', r"got 'bicubic'; did you mean 'cubic'\?"),
        ('colour = "rgb"', r"got 'rgb'; did you mean 'RGB'\?"),
        ('resize = "stretch"', r"got 'stretch'; did you mean 'exact'\?"),
        ('filter = "box"', "got 'box'$"),
    ],
)
def test_a_wrong_value_is_told_with_its_file_and_what_was_meant(
    toml: Path, line: str, said: str
) -> None:
    toml.write_text(f"{TOML}{line}\n")
    with pytest.raises(ContractMismatch, match=rf"^{toml}: \w+ must be .*{said}"):
        fitted_transform(MODEL, str(toml))


@pytest.mark.parametrize("side", ["60000", "1_000_000_000", f"1{'0' * 23}", LONG])
def test_a_resize_that_no_machine_can_do_is_refused(toml: Path, side: str) -> None:
    toml.write_text(TOML.replace("256", side))
    with pytest.raises(ContractMismatch, match=f"{toml}: resize_shorter must be .* <= {MAX_SIDE}"):
        fitted_transform(MODEL, str(toml))


def test_a_preset_that_would_resize_too_far_is_named() -> None:
    with pytest.raises(ContractMismatch, match=r"tandem for 2341 x 2341 pixels: resize_shorter"):
        fitted_transform(taking(3, 2341, 2341), "tandem")
    assert fitted_transform(taking(3, 2048, 2048), "tandem")[0].resize_shorter == 2341
    assert fitted_transform(taking(3, 2341, 2341), "tf-imagenet")[0].resize_shorter == 2341


@pytest.mark.parametrize(
    ("mean", "std"),
    [
        ([0.485, 0.456, 0.406], [58, 57, 57]),
        ([0.485, 0.456, 0.406], [0.229, 0.224, 1.0]),
        ([0.5, 0.5, 0.5], [1, 1, 1]),
        ([120, 0.45, 100], [58, 57, 57]),
        ([-0.5, -0.5, -0.5], [1, 1, 1]),
    ],
)
def test_one_number_of_0_to_1_is_enough_to_be_recognised(
    toml: Path, mean: list[float], std: list[float]
) -> None:
    toml.write_text(f"resize_shorter = 256\nmean = {mean}\nstd = {std}\n")
    with pytest.raises(ContractMismatch, match=r"looks like 0\.\.1: multiply"):
        read_toml(toml)


@pytest.mark.parametrize("std", ["[0, 1, 1]", "[-1, 60, 70]"])
def test_a_std_that_divides_by_nothing_does_not_look_like_0_to_1(toml: Path, std: str) -> None:
    toml.write_text(TOML.replace("[4, 5, 6]", std))
    with pytest.raises(ContractMismatch, match="std must be three numbers above 0"):
        fitted_transform(MODEL, str(toml))


@pytest.mark.parametrize("std", [[1, 1, 1], [255, 255, 255]])
def test_levels_as_they_are_and_pixels_of_0_to_1_are_accepted(toml: Path, std: list[int]) -> None:
    toml.write_text(f"resize_shorter = 256\nmean = [0, 0, 0]\nstd = {std}\n")
    assert fitted_transform(MODEL, str(toml))[0].std == tuple(std)


@pytest.mark.parametrize("text", [f"[{LONG}, 2, 3]", f"[0x{'f' * 5000}, 2, 3]", "[1e999, 2, 3]"])
def test_a_number_beyond_every_float_is_no_traceback(toml: Path, text: str) -> None:
    toml.write_text(TOML.replace("[1, 2, 3.5]", text))
    with pytest.raises(ContractMismatch, match="mean: expected three numbers") as caught:
        read_toml(toml)
    assert len(str(caught.value)) < 500


def test_a_crop_of_thousands_of_digits_is_no_traceback(toml: Path) -> None:
    toml.write_text(f"{TOML}crop_height = 0x{'f' * 5000}\n")
    for read in (declared_size, lambda name: fitted_transform(MODEL, name)):
        with pytest.raises(ContractMismatch, match="thousands of digits"):
            read(str(toml))


@pytest.mark.parametrize("content", [b"\xff", b"[" * 100_000, b"{", b"[]", b'{"mean": 1}'])
def test_json_that_is_none_is_no_traceback(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(ContractMismatch, match=r"t\.json"):
        Transform.from_file(path)


WHOLE = st.one_of(st.integers(), st.sampled_from([10**400, -(10**400), 2**31, 2**63]))
NUMBERS = st.one_of(WHOLE, st.floats(), st.booleans())
VALUES = st.one_of(NUMBERS, st.text(max_size=9), st.lists(NUMBERS, min_size=2, max_size=4))
DECLARED = st.dictionaries(st.sampled_from(FIELDS), VALUES)


def as_toml(value: Any) -> str:
    """JSON's spelling is TOML's but for what is not finite."""
    return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")


@given(DECLARED)
@example({"mean": [10**400, 2, 3]})
@example({"std": [1e-320, 1.0, 1.0]})
@example({"resize_shorter": 10**400})
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_value_in_a_file_is_a_traceback(tmp_path: Path, declared: dict[str, Any]) -> None:
    path = tmp_path / "t.toml"
    usual = {"resize_shorter": 256, "mean": [1, 2, 3.5], "std": [4, 5, 6]}
    lines = (f"{name} = {as_toml(value)}\n" for name, value in (usual | declared).items())
    path.write_text("".join(lines), encoding="utf-8")
    with suppress(ContractMismatch):
        declared_size(str(path))
    with suppress(ContractMismatch):
        fitted_transform(taking(3, None, None), str(path))
    with suppress(ContractMismatch):
        Transform.from_json(json.dumps(declared))

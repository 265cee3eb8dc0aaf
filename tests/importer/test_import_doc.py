"""docs/import.md: its commands run, its file is read, its tables say what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from ensemble.model_config import LARGEST_IN_REQUEST, SMALL_IMAGE_PIXELS, Deployment
from ensemble.presets import PRESETS, read_toml
from ensemble.transform import MAX_SIDE, Transform
from tests.conftest import ROOT
from tests.importer.networks import save, small
from tools.cli import build_parser
from tools.importer.model import PROBABILITIES
from tools.importer.pixels import RATIO
from tools.validate.releases import DEFAULT_RELEASE, release

PAGE = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([^\n]*)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
# `serve` and `client` run in test_import_served.py.
LANGUAGES = {"sh", "sh serve", "sh client", "sh docker", "toml"}


def block(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {language for language, _ in BLOCKS} == LANGUAGES


def test_the_commands_write_what_they_say(tmp_path: Path) -> None:
    proto = small(image=("N", 3, 224, 224))
    del proto.graph.output[1]
    save(proto, tmp_path / "model.onnx")
    (tmp_path / "labels.txt").write_text("a\nb\nc\nd\n")
    tandem = tmp_path / "tandem"
    tandem.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m tools "$@"\n')
    tandem.chmod(0o755)
    for text in block("sh"):
        words = ["bash", "-euo", "pipefail", "-c", text.replace(".venv/bin/tandem", "./tandem")]
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    for name in re.findall(r"--out (\S+)", PAGE):
        assert (tmp_path / name / "classifier" / "1" / "model.onnx").is_file()
    served = re.findall(r"--repository (\w+)\n|PWD/([\w-]+):/models", PAGE)
    assert [left or right for left, right in served] == ["own", "own-gpu"]


@pytest.mark.parametrize("text", block("sh docker"))
def test_the_block_for_docker_is_shell(text: str) -> None:
    subprocess.run(["bash", "-n", "-c", text], check=True)


def test_the_file_has_every_field_and_its_own_defaults(tmp_path: Path) -> None:
    (text,) = block("toml")
    path = tmp_path / "t.toml"
    path.write_text(text, encoding="utf-8")
    given = read_toml(path)
    assert given.keys() == {field.name for field in fields(Transform)}
    required = {name: given[name] for name in ("resize_shorter", "mean", "std")}
    assert Transform(**given) == Transform(**required)


def test_the_table_has_every_preset_with_its_numbers() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \|(.*)$", PAGE, flags=re.MULTILINE))
    assert rows.keys() == PRESETS.keys()
    for name, preset in PRESETS.items():
        for levels in (preset.transform.mean, preset.transform.std):
            shown = dict.fromkeys(f"{level:g}" for level in levels)
            assert ", ".join(shown) in rows[name], (name, shown)
        assert ("no antialias" in rows[name]) == (not preset.transform.antialias)
        assert ("stretched" in rows[name]) == (preset.transform.resize == "exact")
    assert f"ratio: {RATIO} of it" in PAGE


def test_the_page_has_the_bounds_of_the_code() -> None:
    deployment, taken = Deployment(), release(DEFAULT_RELEASE)
    pixels = LARGEST_IN_REQUEST * deployment.max_image_pixels
    assert f"at most {pixels // SMALL_IMAGE_PIXELS}, " in PAGE
    assert f"batch above {pixels // SMALL_IMAGE_PIXELS} " in PAGE
    assert f"takes {pixels // 10**6} million pixels" in PAGE
    assert f"at most {MAX_SIDE} pixels" in PAGE
    assert f"more than {MAX_SIDE} pixels" in PAGE
    assert f"ONNX Runtime {taken.onnxruntime} of Triton {taken.container}" in PAGE
    assert {operator for operator in PROBABILITIES if operator not in PAGE} == set()


def test_every_option_is_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["import", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert {option for option in options if option not in PAGE} == set()

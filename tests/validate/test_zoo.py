"""Every model of the zoo gets its verdict, and the guilty node is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensemble.pbtxt import parse
from tests.validate.zoo import Animal
from tests.validate.zoo_broken import BROKEN
from tests.validate.zoo_good import GOOD
from tools.validate.findings import Finding
from tools.validate.model import ModelUnderTest, check_model
from tools.validate.releases import release

ZOO = [*GOOD, *BROKEN]


def verdict(animal: Animal, folder: Path) -> list[Finding]:
    home = folder / "1"
    home.mkdir()
    content = animal.build(home)
    path = home / "model.onnx"
    path.write_bytes(content)
    config = None if animal.config is None else parse(animal.config, "config.pbtxt")
    return list(check_model(ModelUnderTest(path, config, release=release("24.10"))))


@pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.name)
def test_the_verdict(animal: Animal, tmp_path: Path) -> None:
    found = verdict(animal, tmp_path)
    said = "\n".join(f"{finding.rule.code} {finding.message}" for finding in found)
    assert {finding.rule.code for finding in found} == animal.codes, said
    assert animal.guilty is None or f"'{animal.guilty}'" in said, said
    assert all(words in said for words in animal.says), said


def test_the_zoo_is_large_and_has_both_kinds() -> None:
    assert len(GOOD) >= 20
    assert len(BROKEN) >= 20
    assert len({animal.name for animal in ZOO}) == len(ZOO)

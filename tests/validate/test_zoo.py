"""Every model of the zoo gets its verdict, and the guilty node is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ensemble.pbtxt import parse
from tests.validate.zoo import Animal
from tests.validate.zoo_broken import BROKEN
from tests.validate.zoo_configured import CONFIGURED
from tests.validate.zoo_good import GOOD
from tests.validate.zoo_unfit import UNFIT
from tools.validate.model import ModelUnderTest
from tools.validate.model.request import encode
from tools.validate.releases import release

ZOO = [*GOOD, *BROKEN, *UNFIT, *CONFIGURED]

Verdicts = dict[str, list[tuple[str, str]]]


def request(animal: Animal, folder: Path) -> str:
    home = folder / animal.name / "1"
    home.mkdir(parents=True)
    content = animal.build(home)
    path = home / "model.onnx"
    path.write_bytes(content)
    config = None if animal.config is None else parse(animal.config, "config.pbtxt")
    return encode(ModelUnderTest(path, config, release=release("24.10")))


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    """Code and message of each finding; one process for all, as a start costs half a second."""
    folder = tmp_path_factory.mktemp("zoo")
    done = subprocess.run(
        [sys.executable, "-m", "tools.validate.model.child"],
        input="\n".join(request(animal, folder) for animal in ZOO),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[tuple[str, str]]] = [[]]
    for kind, *words in map(json.loads, done.stdout.splitlines()):
        if kind == "finding":
            found[-1].append((words[0], words[1]))
        elif kind == "end":
            found.append([])
    return dict(zip((animal.name for animal in ZOO), found[:-1], strict=True))


@pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.name)
def test_the_verdict(animal: Animal, verdicts: Verdicts) -> None:
    found = verdicts[animal.name]
    said = "\n".join(f"{code} {message}" for code, message in found)
    assert {code for code, _ in found} == animal.codes, said
    assert animal.guilty is None or f"'{animal.guilty}'" in said, said
    assert all(words in said for words in animal.says), said


def test_the_zoo_is_large_and_has_both_kinds() -> None:
    assert len(GOOD) >= 20
    assert len(BROKEN) + len(UNFIT) >= 20
    assert len({animal.name for animal in ZOO}) == len(ZOO)

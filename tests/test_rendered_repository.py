"""The committed ``model_repository`` is what its sources render, no more and no less."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment
from ensemble.pbtxt import parse
from tools.export import COMMITTED, texts, write_texts

REMEDY = "python -c 'import tools.export as e; e.write_texts(e.Deployment(), e.COMMITTED)'"
RENDERED = ("*/config.pbtxt", "*/configs/*", "*/1/*.json")


def differences(repository: Path) -> list[str]:
    """One line for each rendered file that is not there, differs, or should not be there."""
    expected = dict(texts(Deployment()))
    there = {
        path.relative_to(repository).as_posix(): path.read_text(encoding="utf-8")
        for pattern in RENDERED
        for path in repository.glob(pattern)
    }
    faults = [f"{name}: not there" for name in expected.keys() - there.keys()]
    faults += [f"{name}: nothing renders it" for name in there.keys() - expected.keys()]
    faults += [
        f"{name}: differs from what is rendered"
        for name in expected.keys() & there.keys()
        if expected[name] != there[name]
    ]
    return sorted(faults)


def test_the_committed_repository_is_what_is_rendered() -> None:
    assert differences(COMMITTED) == [], f"write it again: {REMEDY}"


def test_every_committed_configuration_is_read_as_triton_reads_it() -> None:
    paths = sorted(COMMITTED.rglob("*.pbtxt"))
    assert len(paths) > len(list(COMMITTED.iterdir()))
    for path in paths:
        parse(path.read_text(encoding="utf-8"), str(path))


def test_a_configuration_with_a_field_that_triton_lacks_is_refused() -> None:
    with pytest.raises(ContractMismatch, match=r"here:2:1.*max_batch_sise"):
        parse('name: "postprocess"\nmax_batch_sise: 8\n', "here")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    write_texts(Deployment(), tmp_path)
    assert differences(tmp_path) == []
    return tmp_path


def test_a_changed_file_is_found(copy: Path) -> None:
    path = copy / "classifier" / "config.pbtxt"
    path.write_text(path.read_text(encoding="utf-8").replace("64", "32"), encoding="utf-8")
    assert differences(copy) == ["classifier/config.pbtxt: differs from what is rendered"]


def test_a_lost_file_is_found(copy: Path) -> None:
    (copy / "preprocess" / "1" / "transform.json").unlink()
    assert differences(copy) == ["preprocess/1/transform.json: not there"]


def test_a_stray_file_is_found(copy: Path) -> None:
    stray = copy / "ensemble" / "configs" / "forgotten.pbtxt"
    shutil.copyfile(copy / "ensemble" / "config.pbtxt", stray)
    assert differences(copy) == ["ensemble/configs/forgotten.pbtxt: nothing renders it"]


def test_a_stray_model_is_found(copy: Path) -> None:
    (copy / "old").mkdir()
    shutil.copyfile(copy / "ensemble" / "config.pbtxt", copy / "old" / "config.pbtxt")
    assert differences(copy) == ["old/config.pbtxt: nothing renders it"]

"""Folders and files of a model: what is missing, odd or passed over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.validate.checking import codes, findings_in
from tests.validate.corpus.base import MODEL, with_output
from tools.validate.checks.repository import label_file

LABELLED = with_output('name: "B" data_type: TYPE_FP32 dims: 3 label_filename: "labels.txt"')


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "repository" / "m"
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "config.pbtxt").write_text(LABELLED + "dynamic_batching { }", encoding="utf-8")
    (folder / "labels.txt").write_text("cat\ndog\nfish\n", encoding="utf-8")
    return folder


def test_a_whole_model_is_clean(model: Path) -> None:
    assert findings_in(model.parent) == []


@pytest.mark.parametrize(
    ("data", "code", "said", "line"),
    [
        (b"cat\ndog\n", "R103", "expected 3 lines, got 2", None),
        (b"cat\ndog\nfish\n\n", "R103", "expected 3 lines, got 4", None),
        (b"cat\n\nfish\n", "R104", "a blank line", 2),
        (b"cat\r\ndog\r\nfish\r\n", "R104", "a carriage return, and 2 more", 1),
        (b"\xef\xbb\xbfcat\ndog\nfish\n", "R104", "a byte order mark", 1),
        (b"0\tcat\n1\tdog\n2\tfish\n", "R104", "a tab, and 2 more", 1),
        (b"cat\ndog \nfish\n", "R104", "spaces around the name", 2),
        (b"cat\nd\xf6g\nfish\n", "R104", "bytes that are not UTF-8", 2),
        (b"cat\nfish\nfish\n", "R105", "'fish': expected once, got 2", 3),
    ],
)
def test_an_odd_label_file_is_described(
    data: bytes, code: str, said: str, line: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes(data)
    (finding,) = [f for f in label_file(path, 3) if f.rule.code == code]
    assert said in finding.message
    assert finding.place.line == line


@pytest.mark.parametrize("data", [b"cat\ndog\nfish\n", b"cat\ndog\nfish"])
def test_a_plain_label_file_is_clean(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_bytes(data)
    assert list(label_file(tmp_path / "labels.txt", 3)) == []


def test_a_missing_label_file_is_named(model: Path) -> None:
    (model / "labels.txt").unlink()
    (finding,) = findings_in(model.parent)
    assert finding.rule.code == "R003"
    assert "labels.txt" in finding.message


def test_a_misplaced_configuration_is_named(model: Path) -> None:
    (model / "config.pbtxt").rename(model / "1" / "config.pbtxt")
    (model / "Config.pbtxt").write_text("", encoding="utf-8")
    found = findings_in(model.parent)
    assert codes(found) >= {"R106", "R108"}
    assert len([f for f in found if f.rule.code == "R106"]) == 2


def test_versions_that_are_not_served_are_named(model: Path) -> None:
    (model / "3").mkdir()
    (model / "3" / "model.py").write_text(MODEL, encoding="utf-8")
    (model / "v4").mkdir()
    found = findings_in(model.parent)
    assert codes(found) == {"R110", "R101"}
    assert any("serves 3 only, not 1" in f.message for f in found)


def test_a_folder_that_can_not_be_listed_is_named(model: Path) -> None:
    (model / "config.pbtxt").unlink()
    (model / "config.pbtxt").mkdir()
    assert "R006" in codes(findings_in(model.parent))


def test_an_empty_repository_is_named(tmp_path: Path) -> None:
    assert codes(findings_in(tmp_path)) == {"R005"}


def test_a_configuration_that_is_no_file_is_named_and_not_waited_for(model: Path) -> None:
    (model / "config.pbtxt").unlink()
    os.mkfifo(model / "config.pbtxt")
    assert "R006" in codes(findings_in(model.parent))


@pytest.mark.parametrize(
    ("source", "good"),
    [
        ("class TritonPythonModel:\n    execute = print\n", True),
        ("if True:\n    from other import TritonPythonModel\n", True),
        ("try:\n    from a import b as TritonPythonModel\nexcept ImportError: pass\n", True),
        ("globals()['TritonPythonModel'] = print\n", True),
        ("def f():\n    class TritonPythonModel: pass\n", False),
        ("return 1\n", False),
        ("TritonPythonModel: type\n", False),
        ("TritonPythonModel = None\n", False),
        ("class TritonPythonModel: pass\ndel TritonPythonModel\n", False),
    ],
)
def test_the_class_is_found_as_an_import_would(source: str, good: bool, model: Path) -> None:
    (model / "1" / "model.py").write_text(source, encoding="utf-8")
    assert ("R004" not in codes(findings_in(model.parent))) is good


@pytest.mark.parametrize(("wanted", "named"), [("[1, 3]", True), ("[1]", False)])
def test_a_version_that_is_asked_for_and_not_there_is_named(
    wanted: str, named: bool, model: Path
) -> None:
    policy = f"version_policy {{ specific {{ versions: {wanted} }} }}\n"
    config = model / "config.pbtxt"
    config.write_text(config.read_text(encoding="utf-8") + policy, encoding="utf-8")
    assert ("R102" in codes(findings_in(model.parent))) is named


def test_a_model_that_can_not_execute_is_named(model: Path) -> None:
    (model / "1" / "model.py").write_text("class TritonPythonModel: pass\n", encoding="utf-8")
    assert codes(findings_in(model.parent)) == {"R107"}

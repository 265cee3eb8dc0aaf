"""Arguments become images in order, lazily, and what can't be read is reported by name."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from tools.client.sources import Source, find, images


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a few images in two levels."""
    monkeypatch.chdir(tmp_path)
    for name in ("in/b.JPG", "in/a.png", "in/README.md", "in/deep/c.webp", "in/deep/d.tiff"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path


def names(*arguments: str) -> list[str]:
    return [source.name for source in find(arguments)]


def test_a_folder_gives_its_images_sorted_and_nothing_else(folder: Path) -> None:
    (folder / "in" / "folder.png").mkdir()
    (folder / "in" / "dangling.png").symlink_to("nowhere")
    os.mkfifo(folder / "in" / "pipe.png")
    expected = ["in/a.png", "in/b.JPG", "in/deep/c.webp", "in/deep/d.tiff"]
    assert names("in") == names("in/") == expected


def test_arguments_keep_their_order(folder: Path) -> None:
    assert names("in/b.JPG", "in/deep", "in/a.png") == [
        "in/b.JPG",
        "in/deep/c.webp",
        "in/deep/d.tiff",
        "in/a.png",
    ]


def test_a_named_file_is_taken_whatever_it_is_called(folder: Path) -> None:
    assert list(images(find(["in/README.md"]))) == [("in/README.md", b"in/README.md")]


@pytest.mark.parametrize("suffix", ["jpg", "JPEG", "Png", "webp", "bmp", "gif", "tif", "TIFF"])
def test_suffixes_of_images(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    path.touch()
    assert names(str(tmp_path)) == [str(path)]


def test_what_is_missing_or_empty_is_reported_and_the_others_go_on(folder: Path) -> None:
    (folder / "empty").mkdir()
    found = list(images(find(["nowhere", "empty", "in/a.png"])))
    assert [name for name, _ in found] == ["nowhere", "empty", "in/a.png"]
    (_, missing), (_, empty), (_, data) = found
    assert isinstance(missing, FileNotFoundError)
    assert isinstance(empty, FileNotFoundError)
    assert missing.strerror == "No such file or directory"
    assert str(empty) == "no images in this folder"
    assert data == b"in/a.png"


def test_a_folder_that_cannot_be_listed_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find(["in"])
    assert [source.name for source in found] == ["in/a.png", "in/b.JPG", "in/deep"]
    assert isinstance(found[-1].problem, PermissionError)


def test_bytes_are_read_one_image_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = Source.read

    def note(source: Source) -> bytes:
        read.append(source.name)
        return real(source)

    monkeypatch.setattr(Source, "read", note)
    stream = images(find(["in"]))
    assert read == []
    next(stream)
    assert read == ["in/a.png"]
    (folder / "in" / "b.JPG").unlink()
    name, gone = next(stream)
    assert name == "in/b.JPG"
    assert isinstance(gone, FileNotFoundError)


def test_a_dash_is_the_bytes_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xd8\0\0")))
    assert list(images(find(["-"]))) == [("-", b"\xff\xd8\0\0")]

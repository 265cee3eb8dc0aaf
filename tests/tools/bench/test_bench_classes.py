"""The mix of the command line, and the images that it sends."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensemble.errors import ContractMismatch
from tools.bench import classes
from tools.bench.classes import alone, classes_of, kind_of
from tools.load.photographs import photographs


def folder(path: Path, *sizes: int) -> Path:
    path.mkdir()
    for number, size in enumerate(sizes):
        (path / f"{number}.jpg").write_bytes(bytes([number % 256]) * size)
    return path


def test_without_a_class_there_is_one_of_the_sample_photographs() -> None:
    (one,) = classes_of([], None, seed=0)
    assert (one.name, one.share, tuple(one.images)) == ("all", 1.0, photographs())
    assert kind_of(one).images == "the sample photographs (18)"


def test_a_class_has_what_it_names_and_the_common_images_otherwise(tmp_path: Path) -> None:
    common, own = folder(tmp_path / "common", 10), folder(tmp_path / "own", 20, 40, 60)
    urgent, rest = classes_of(
        [f"name=urgent,share=0.2,priority=1,timeout-ms=100,rows=2,images={own}", "name=rest"],
        common,
        seed=0,
    )
    kind = kind_of(urgent)
    assert (kind.name, kind.share, kind.priority, kind.timeout_ms) == ("urgent", 0.2, 1, 100.0)
    assert (kind.rows, kind.images, kind.median_bytes) == (2, "own (3)", 40)
    assert (rest.share, kind_of(rest).images) == (pytest.approx(0.8), "common (1)")


def test_shares_that_are_left_out_divide_what_is_left() -> None:
    found = classes_of(["name=a,share=0.5", "name=b", "rows=2"], None, seed=0)
    assert [(one.name, one.share) for one in found] == [("a", 0.5), ("b", 0.25), ("class-3", 0.25)]


@pytest.mark.parametrize(
    "texts",
    [
        ["share=0.2"],
        ["share=0.7", "share=0.7"],
        ["share=1", "name=b"],
        ["share=nan"],
        ["share=0"],
        ["priority=-1"],
        ["priority=high"],
        ["timeout-ms=0"],
        ["timeout-ms=inf"],
        ["rows=0"],
        ["name="],
        ["name=a", "name=a"],
        ["colour=red"],
        ["images=/nowhere/at/all"],
        ["priority"],
        [""],
    ],
)
def test_a_class_that_is_none_is_refused(texts: list[str]) -> None:
    with pytest.raises(ContractMismatch, match=r"--class|--images"):
        classes_of(texts, None, seed=0)


def test_an_empty_file_is_no_image(tmp_path: Path) -> None:
    with pytest.raises(ContractMismatch, match="empty"):
        classes_of([], folder(tmp_path / "images", 10, 0), seed=0)


def test_a_folder_without_images_is_said(tmp_path: Path) -> None:
    with pytest.raises(ContractMismatch, match="no images in this folder"):
        classes_of([], folder(tmp_path / "images"), seed=0)


def test_of_many_images_as_many_as_are_kept_are_drawn_by_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classes, "MAX_IMAGES", 5)
    images = folder(tmp_path / "images", *range(1, 41))
    drawn = [classes_of([], images, seed)[0].images for seed in (1, 1, 2)]
    assert len(drawn[0]) == 5
    assert drawn[0] == drawn[1] != drawn[2]


def test_more_than_fits_into_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classes, "MAX_BYTES", 25)
    with pytest.raises(ContractMismatch, match="MiB"):
        classes_of([], folder(tmp_path / "images", 10, 10, 10), seed=0)


def test_a_class_can_be_sent_alone_to_a_server_that_is_still_cold() -> None:
    (one, _) = classes_of(["share=0.2,rows=3,timeout-ms=5", "name=b"], None, seed=0)
    assert (alone(one).share, alone(one).rows, alone(one, 8).rows) == (1.0, 3, 8)
    assert alone(one).timeout_ms == 0

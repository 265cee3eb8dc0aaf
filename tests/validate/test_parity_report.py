"""The report stands alone and shows what was found."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ensemble.transform import Transform
from tests.conftest import SAMPLES
from tools.validate.parity.check import check_preprocessing
from tools.validate.parity.comparison import ParityRequest, ParityResult
from tools.validate.parity.report import SHOWN, amplification, levels, verdict


class Addresses(HTMLParser):
    """Everything in a page that a browser would fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "srcset")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[ParityResult, str]:
    path = tmp_path_factory.mktemp("report") / "parity.html"
    transform = Transform(colour="BGR")
    request = ParityRequest(transform, "torchvision", [SAMPLES], report=path)
    return check_preprocessing(request), path.read_text(encoding="utf-8")


def test_it_fetches_nothing(report: tuple[ParityResult, str]) -> None:
    page = report[1]
    found = Addresses(page).found
    assert len(found) == 3 * SHOWN
    assert all(address.startswith("data:image/png;base64,") for address in found)
    assert not re.search(r"https?:|@import|url\(", page)
    assert Addresses('<img src="https://example.org/x.png">').found == ["https://example.org/x.png"]


def test_its_pictures_can_be_opened(report: tuple[ParityResult, str]) -> None:
    for address in Addresses(report[1]).found:
        with Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))) as picture:
            assert picture.size == (224, 224)


def test_it_says_the_verdict_each_finding_and_each_picture(
    report: tuple[ParityResult, str],
) -> None:
    result, page = report
    assert "pictures differ from torchvision: colour-order" in page
    assert all(finding.rule.code in page for finding in result.findings)
    assert page.count("<tr><td>") == len(result.pictures)
    assert "chelsea.png" in page
    assert re.search(r"difference x \d+", page)


def test_names_are_escaped(tmp_path: Path) -> None:
    image, path = tmp_path / "<b>&.png", tmp_path / "r.html"
    image.write_bytes((SAMPLES / "chelsea.png").read_bytes())
    np.savez(tmp_path / "t.npz", other=np.zeros((3, 224, 224), np.float32))
    fed = {image.name: np.zeros((3, 224, 224), np.float32)}
    np.savez(tmp_path / "t.npz", **fed)  # type: ignore[arg-type]
    check_preprocessing(ParityRequest(Transform(), str(tmp_path / "t.npz"), [image], path))
    assert "&lt;b&gt;&amp;.png" in path.read_text()
    assert "<b>&" not in path.read_text()


def test_the_verdict_of_agreement_and_of_nothing() -> None:
    assert verdict("tf", ParityResult((), ())) == "Nothing was compared with tf."
    result = check_preprocessing(ParityRequest(Transform(antialias=False), "tf"))
    agreed = replace(result, pictures=tuple(one for one in result.pictures if one.agrees))
    assert verdict("tf", agreed).startswith("The server feeds what tf feeds: all ")


@pytest.mark.parametrize(
    ("p99", "factor"), [(0.0, 64), (1.0, 64), (10.0, 25), (200.0, 1), (1e9, 1), (np.inf, 1)]
)
def test_the_amplification_is_a_whole_factor(p99: float, factor: int) -> None:
    assert amplification(p99) == factor


@pytest.mark.parametrize("colour", ["RGB", "BGR"])
@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_what_is_shown_is_rgb_whatever_is_fed(colour: str, layout: str) -> None:
    transform = Transform(colour=colour, layout=layout, mean=(1.0, 2.0, 3.0), std=(4.0, 5.0, 6.0))
    red = np.zeros((224, 224, 3), np.float32)
    red[..., 0] = 255
    fed = red if colour == "RGB" else red[..., ::-1]
    fed = (fed - np.float32(transform.mean)) / np.float32(transform.std)
    fed = fed.transpose(2, 0, 1) if layout == "CHW" else fed
    np.testing.assert_allclose(levels(fed, transform), red, atol=1e-3)

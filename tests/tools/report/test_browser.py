"""The page in a real browser: on a desk, on a phone, in print."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.records import CLOSED, OPEN, Server
from tests.tools.report.browser import PROGRAM, Browser, browser
from tests.tools.report.pages import nasty, page_of, small

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no chromium on the PATH")

BEYOND = """
[...document.querySelectorAll("body *")]
  .filter(one => !one.closest(".wide, svg") && one.getBoundingClientRect().right > innerWidth + 1)
  .map(one => one.outerHTML.slice(0, 80))
"""
SCROLLED = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALLEST = """
Math.min(...[...document.querySelectorAll("svg.chart text")]
  .map(one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a))
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two records, one of them with what is hard to fit."""
    long = tuple(replace(target, name=120 * "w") for target in small().targets[:1])
    hard = small(targets=[Server(f"t{n}") for n in range(7)], loads=(CLOSED[1], OPEN[1]))
    written = tmp_path_factory.mktemp("page") / "report.html"
    text = page_of(replace(hard, targets=long + hard.targets[1:]), nasty())
    written.write_text(text, encoding="utf-8")
    return written


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (360, 740)])
def test_it_fits_and_nobody_complains(opened: Browser, path: Path, width: int, height: int) -> None:
    opened.open(path, width, height)
    assert opened.complaints == []
    assert opened.value("document.querySelectorAll('svg.chart').length") > 10
    assert opened.value(SCROLLED) == 0
    assert opened.value(BEYOND) == []
    assert opened.value(SMALLEST) >= 9  # pixels: the least that a phone shows readably


def test_what_does_not_fit_or_fails_is_seen(opened: Browser, path: Path) -> None:
    wide = '<p style="width: 2000px">wide</p><script>alert(1)</script></body>'
    broken = path.with_name("broken.html")
    broken.write_text(path.read_text(encoding="utf-8").replace("</body>", wide), encoding="utf-8")
    opened.open(broken, 360, 740)
    assert opened.value(SCROLLED) > 0
    assert opened.value(BEYOND)
    assert any("Content Security Policy" in one for one in opened.complaints)
    opened.complaints.clear()


def test_what_is_folded_is_open_in_print(opened: Browser, path: Path) -> None:
    opened.open(path, 794, 1123)
    assert not opened.value("document.querySelector('details').open")
    folded = opened.value("document.querySelector('details').clientHeight")
    opened.ask("Emulation.setEmulatedMedia", media="print")
    assert opened.value("document.querySelector('details').clientHeight") > folded + 20
    opened.ask("Emulation.setEmulatedMedia", media="")
    printed = base64.b64decode(opened.ask("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert printed.startswith(b"%PDF")

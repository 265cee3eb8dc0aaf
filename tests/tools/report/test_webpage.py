"""The page says everything, fetches nothing, and obeys nothing that a record says."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.fakes.records import BASELINE, CLOSED, INTERACTIVE, OPEN
from tests.tools.report.pages import NASTY, ODD, Page, odd_page, page_of, small
from tools.record.record import Cell, Kind
from tools.report.look import STYLE

MEGABYTE = 1_000_000
CHAPTERS = (
    "Throughput against p95 latency",
    "At equal SLO",
    "Answers",
    "At equal load",
    "Latency",
    "Where the time goes",
    "Batches",
    "Arrivals",
    "Failures",
    "Requests",
    "Resources",
    "Warm-up",
    "What was not used",
    "How to repeat it",
    "Configurations",
)


@pytest.mark.parametrize("name", ODD)
def test_every_odd_record_makes_a_page_without_a_fault(name: str) -> None:
    page = odd_page(name)
    read = Page(page)
    assert read.faults == []
    assert all(chapter in read.text for chapter in CHAPTERS)
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in read.tags)
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    numbers = [
        number
        for drawing in drawings
        for element in ElementTree.fromstring(drawing).iter()
        for number in re.findall(r"nan|inf", " ".join(_geometry(element)))
    ]
    assert numbers == []


def _geometry(element: ElementTree.Element) -> list[str]:
    names = ("x", "y", "x1", "x2", "y1", "y2", "width", "height", "d", "transform", "viewBox")
    return [element.get(name, "") for name in names]


def test_a_fault_of_a_page_is_found() -> None:
    assert Page("<p><b></p>").faults == ["/p", "p"]
    assert Page("<p></p></p>").faults == ["/p"]


def test_it_fetches_nothing_and_forbids_it() -> None:
    page = odd_page("plain")
    assert not re.search(r"https?:|@import|\bsrc=", page)
    assert set(re.findall(r"url\((.*?)\)", page)) == {"#queue", "#output"}
    policies = [meta["content"] for meta in Page(page).named("meta") if "http-equiv" in meta]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_nothing_from_a_record_becomes_markup() -> None:
    page, plain = odd_page("nasty"), odd_page("plain")
    assert '&lt;script&gt;alert("x")&lt;/script&gt;&amp;amp;' in page
    assert "<script" not in page
    assert {tag for tag, _ in Page(page).tags} <= {tag for tag, _ in Page(plain).tags} | {"path"}
    assert not {"\x1b", "\u202e", "\ud800"} & set(page)
    assert not any(name.startswith("on") for _, found in Page(page).tags for name in found)
    assert page.encode("utf-8")


def test_a_name_that_became_markup_would_be_seen() -> None:
    page = odd_page("plain").replace("baseline", NASTY)
    assert "script" in {tag for tag, _ in Page(page).tags}


def test_ten_records_fit_and_are_told_apart() -> None:
    loads = (CLOSED, OPEN)
    random = np.random.default_rng
    records = [
        small(loads=loads[n % 2], random=random(n), created=f"2026-11-{n + 10}") for n in range(10)
    ]
    page = page_of(*records)
    assert len(page.encode()) < 5 * MEGABYTE
    text = Page(page).text
    assert "10 records side by side" in text
    assert all(one.created in text for one in records)
    assert len([one for one in Page(page).named("h2") if one.get("id")]) == 10
    assert "machines" not in text


def test_records_of_two_machines_are_not_to_be_compared() -> None:
    other = small(origin={"machine": {"cores": 64, "cpu": "another CPU"}})
    words = "differ in machine (2 cores of a CPU; 64 cores of another CPU): compare targets within"
    assert words in Page(page_of(small(), other)).text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"slo_p95_ms": 100.0}, "SLO (50 ms; 100 ms)"),
        ({"slo_p95_ms": None}, "SLO (50 ms; none)"),
        ({"engine": "perf_analyzer 2.61.0"}, "engine (tandem; perf_analyzer 2.61.0)"),
        ({"mix": (Kind(rows=8),)}, "requests (100% all of 1 image, samples 60 kB; 100% all of 8"),
    ],
)
def test_records_under_other_conditions_are_not_to_be_compared(
    fields: dict[str, Any], words: str
) -> None:
    assert words in Page(page_of(small(), small(**fields))).text


def test_a_point_where_many_failed_is_hollow_and_said_to_flatter() -> None:
    refusing = small(targets=(BASELINE, replace(INTERACTIVE, refused=0.3)), loads=OPEN[2:3])
    page = page_of(refusing)
    assert page.count(' hollow"') == 1
    assert "A hollow point flatters" in Page(page).text
    assert "% failed</title>" in page
    assert ' hollow"' not in odd_page("plain")
    assert "flatters" not in Page(odd_page("plain")).text


def test_a_load_that_could_not_be_drawn_is_named() -> None:
    plain = small()
    last = plain.cells[-1]
    cells = tuple(replace(c, unused="late") if _same(c, last) else c for c in plain.cells)
    words = "Not drawn for want of answers: interactive at 16 callers."
    assert words in Page(page_of(replace(plain, cells=cells))).text
    assert "Not drawn" not in Page(odd_page("plain")).text


def _same(one: Cell, other: Cell) -> bool:
    return (one.target, one.load) == (other.target, other.load)


def test_every_stage_is_in_figures_too() -> None:
    text = Page(odd_page("plain")).text
    assert "Every stage in figures" in text
    assert all(words in text for words in ("compute infer ms", "executions", "inferences"))


def test_an_slo_that_nothing_was_measured_against_was_named_all_the_same() -> None:
    assert "No SLO was named." not in Page(odd_page("no cells")).text


def test_each_sentence_of_the_verdict_stands_by_itself_with_its_record() -> None:
    page = page_of(ODD["closed and open"], ODD["plain"])
    assert len([one for one in Page(page).named("p") if one.get("class") == "verdict"]) == 3
    said = re.findall(r'<p class="verdict"><a href="#r(\d)">', page)
    assert said == ["0", "0", "1"]


def test_the_protocol_is_told_where_there_are_several() -> None:
    assert "4 callers, http" in _tables(odd_page("two protocols"))
    assert "4 callers, grpc" not in _tables(odd_page("plain"))


def _tables(page: str) -> str:
    return " ".join(re.findall(r"<tbody>.*?</tbody>", page, re.DOTALL))


def test_few_rounds_are_said_to_be_too_few() -> None:
    assert "too few rounds to tell" in Page(odd_page("one round")).text
    assert "too few rounds to tell" not in Page(odd_page("plain")).text


def test_counts_that_no_server_has_are_not_drawn() -> None:
    stage = replace(small().cells[0].stages[0], sizes={1: (5, 0.1), 2: (-5, 0.1)})
    plain = small()
    page = page_of(replace(plain, cells=tuple(replace(c, stages=(stage,)) for c in plain.cells)))
    assert not re.search(r'(width|height)="-', page)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("one target", "There are no two targets to compare."),
        ("no SLO", "No SLO was named."),
        ("no stages", "The server said nothing of its stages."),
        ("no stages", "The server said nothing of its batches."),
        ("no success", "Nothing was answered."),
        ("no success", "too few answers"),
        ("no success", "network"),
        ("no steps", "The server said nothing of its models."),
        ("plain", "No request failed."),
        ("plain", "Every cell counts."),
        ("plain", "No open loop was run"),
        ("closed and open", "Open loop, poisson arrivals, grpc"),
        ("closed and open", "Closed loop, grpc"),
        ("closed and open", "Too few to tell"),
        ("closed and open", "latency counts from when a request was due"),
        ("two protocols", "Closed loop, http"),
        ("classes", "urgent"),
        ("interrupted", "interrupted"),
        ("perf_analyzer", "engine perf_analyzer 2.61.0"),
        ("unused", "late"),
        ("large batches", "33–64"),
    ],
)
def test_what_is_odd_is_said(name: str, words: str) -> None:
    assert words in Page(odd_page(name)).text


def test_every_chart_says_what_it_shows_to_those_who_can_not_see_it() -> None:
    read = Page(odd_page("closed and open"))
    charts = [one for one in read.named("svg") if one.get("class") == "chart"]
    assert len(charts) >= 15
    assert all(one["role"] == "img" and len(one["aria-label"]) > 20 for one in charts)
    others = [one for one in read.named("svg") if one.get("class") != "chart"]
    assert all(one["aria-hidden"] == "true" for one in others)
    assert ("html", {"lang": "en"}) in read.tags
    tables = read.named("table")
    assert len(tables) == len(read.named("caption")) > 5


def test_the_slo_is_drawn_where_one_was_named() -> None:
    assert odd_page("plain").count('class="limit"') == 3
    assert 'class="limit"' not in odd_page("no SLO")
    assert "SLO 50" in Page(odd_page("plain")).text


def test_a_target_looks_the_same_in_every_record() -> None:
    first, second = small(), small()
    second = replace(second, targets=second.targets[::-1])
    alone, both = page_of(first), page_of(first, second)
    assert len(set(_swatches(alone))) == 2
    assert set(_swatches(alone)) == set(_swatches(both))


def _swatches(page: str) -> list[str]:
    """Of lines, with their names."""
    return re.findall(r'<li><svg class="swatch"[^>]*><line .*?</li>', page)


def test_names_that_do_not_fit_are_shortened_in_charts_only() -> None:
    name = "a" * 300
    page = page_of(replace(small(), targets=tuple(replace(t, name=name) for t in small().targets)))
    assert name in Page(page).text
    assert max(len(t) for t in re.findall(r"<text[^>]*>([^<]*)</text>", page)) < 80


def _luminance(colour: str) -> float:
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    channels = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]


def contrast(one: str, other: str) -> float:
    """Source: WCAG 2.2, contrast ratio."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_has_contrast_and_lines_have_some_in_light_and_in_dark() -> None:
    assert contrast("fff", "000") == pytest.approx(21)
    light, dark = (_colours(odd_page("plain"), place) for place in (0, 1))
    for colours in (light, dark):
        paper = colours["paper"]
        for name in ("ink", "soft", "good", "warn", "bad"):
            assert contrast(colours[name], paper) >= 4.5, name  # WCAG 2.2, 1.4.3
        for name in (f"c{n}" for n in range(6)):
            assert contrast(colours[name], paper) >= 2.8, (name, colours[name])
        assert contrast(colours["c0"], paper) >= 4.5  # links


def _colours(page: str, place: int) -> dict[str, str]:
    """Of the light page, or of the dark one."""
    blocks = re.findall(r":root \{(.*?)\}", page[: page.index("</style>")], re.DOTALL)
    found: dict[str, str] = {}
    for block in (blocks[place], blocks[3 + place]):  # of every page; printed; of charts
        found |= dict(re.findall(r"--(\w+): #([0-9a-f]+)", block))
    return found


def test_charts_are_told_apart_without_colour() -> None:
    page = odd_page("many targets")
    dashes_and_markers = {
        (re.search(r'stroke-dasharray="(.*?)"', one), re.search(r' d="(.*?)"', one))
        for one in _swatches(page)
    }
    told = {tuple(m and m[1] for m in pair) for pair in dashes_and_markers}
    assert len(told) == 20
    assert "stroke-dasharray" in STYLE

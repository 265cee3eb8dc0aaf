"""Axes have round ticks and place values where they belong; labels do not lie on each other."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.report.axes import linear, logarithmic, nines
from tools.report.bars import Grid, Histogram, Row, grid, stacked
from tools.report.drawing import apart, marker, style, swatch
from tools.report.lines import MOST_NAMED, Lines, Point, Series, lines
from tools.report.markup import html, node

AMOUNTS = st.lists(st.floats(0, 1e12), max_size=5)


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (400.0, (0, 100, 200, 300, 400)),
        (401.0, (0, 100, 200, 300, 400, 500)),
        (0.9, (0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        (12.0, (0, 2.5, 5.0, 7.5, 10.0, 12.5)),
    ],
)
def test_a_linear_axis_has_round_ticks_up_to_its_end(most: float, ticks: tuple[float, ...]) -> None:
    assert linear("", [most]).ticks == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([3.0, 40.0], (2, 5, 10, 20, 50)),
        ([10.0], (10, 20)),
        ([0.5, 30000.0], (1, 10, 100, 1000, 10000)),
        ([], (1, 2, 5, 10)),
    ],
)
def test_a_logarithmic_axis_encloses_its_values(
    values: list[float], ticks: tuple[float, ...]
) -> None:
    assert logarithmic("", values).ticks == pytest.approx(ticks)


@given(AMOUNTS)
def test_every_axis_places_its_values_in_order_within_itself(values: list[float]) -> None:
    odd = [*values, math.nan, math.inf]
    for axis in (linear("", odd), logarithmic("", odd)):
        shares = [axis.share(value) for value in sorted(values)]
        assert shares == sorted(shares)
        assert all(0 <= share <= 1 for share in shares)
        assert 2 <= len([axis.form(tick) for tick in axis.ticks]) <= 14


def test_each_nine_of_a_quantile_axis_is_as_long() -> None:
    axis = nines("", 0.999)
    lengths = [axis.share(q) for q in (0.9, 0.99, 0.999)]
    assert lengths == pytest.approx([1 / 3, 2 / 3, 1])
    assert [axis.form(tick) for tick in axis.ticks] == ["p50", "p95", "p99", "p99.9"]
    assert axis.share(1.0) == 1


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_labels_keep_their_order_and_their_distance(places: list[float]) -> None:
    moved = apart(places, 13, 0, 100)
    order = sorted(range(len(places)), key=places.__getitem__)
    steps = [moved[b] - moved[a] for a, b in pairwise(order)]
    assert all(step >= 13 - 1e-9 for step in steps)
    assert min(moved) >= 0
    if len(places) * 13 <= 100:
        assert max(moved) <= 100 + 1e-9


def test_labels_that_are_apart_stay() -> None:
    assert apart([10.0, 50.0, 30.0], 13, 0, 100) == [10, 50, 30]
    assert apart([10.0, 10.0], 10, 0, 100) == [5, 15]


def test_no_two_of_thirty_series_look_alike() -> None:
    assert len({html(swatch(place)) for place in range(30)}) == 30
    assert style(0) != style(1)
    assert "<title>what it is</title>" in html(marker(3, 1.0, 2.0, "what it is"))


def a_chart(count: int, **fields: object) -> str:
    points = (Point(1.0, 10.0, "first", "1", (0.5, 1.5), (8.0, 12.0)), Point(2.0, 30.0, "second"))
    series = [Series(f"name {n}", n, points) for n in range(count)]
    x, y = linear("x, 1/s", [2.0]), logarithmic("y, ms", [8.0, 30.0])
    return html(lines(Lines("what", x, y, series, **fields)))  # type: ignore[arg-type]


def test_a_chart_has_units_intervals_and_names_at_its_ends() -> None:
    drawn = a_chart(2, slo=20.0)
    assert all(words in drawn for words in ("x, 1/s", "y, ms", "name 0", "name 1", "SLO 20"))
    assert drawn.count('class="interval series') == 4
    assert 'class="limit"' in drawn


def test_a_chart_of_many_leaves_names_to_the_legend() -> None:
    assert ">name 0<" not in a_chart(MOST_NAMED + 1)
    assert ">name 0<" in a_chart(MOST_NAMED)


def test_pieces_of_a_bar_lie_side_by_side_and_add_up() -> None:
    axis = linear("ms", [10.0])
    drawn = stacked("what", axis, [Row("a", "stage", {"queue": 6.0, "infer": 4.0})])
    first, second = drawn.iter("rect")
    assert float(first.get("x", "")) + float(first.get("width", "")) == pytest.approx(
        float(second.get("x", "")),
        abs=0.11,  # both are rounded to a tenth
    )
    assert "10" in [text.text for text in drawn.iter("text") if text.get("class") == "value"]


def test_a_histogram_is_as_high_as_its_highest_bar_and_may_be_unknown() -> None:
    rows = {"r": [Histogram([1, 4], "mean 2"), Histogram(None, "not known")]}
    drawn = grid(Grid("what", ["m", "n"], rows, ["1", "2"], "batch size"))
    low, high = (float(bar.get("height", "")) for bar in drawn.iter("rect"))
    assert high == pytest.approx(4 * low, abs=0.3)  # rounded to a tenth
    assert "not known" in html(drawn)


def test_markup_takes_text_for_text() -> None:
    made = html(node("p", "a<b", [node("b", "&"), " c"], None, class_="d", aria_label='"<'))
    assert made == '<p class="d" aria-label="&quot;&lt;">a&lt;b<b>&amp;</b> c</p>'

"""From a view to lines: at every width, in every encoding, and with names that mean harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.doctor.stages import config, policy, stage
from tools.doctor.stage import Stage
from tools.statistics.configuration import Config
from tools.statistics.counters import Model
from tools.statistics.metrics import Gpu, Metrics
from tools.top.render import page, plain, render
from tools.top.rows import rows_of
from tools.top.text import ASCII, UNICODE, Glyphs, Span, cells
from tools.top.view import View

E, A, B = (Model(name, "1") for name in ("chain", "decode", "classify"))
STEPS = (A.name, B.name)
METRICS = Metrics(
    pending={A: 3, B: 4},
    failures={one: {"REJECTED": 0} for one in (E, A, B)},
    quantiles_s={E: {0.5: 0.09, 0.95: 0.18, 0.99: 0.4}, A: {0.95: 0.1}},
    has_quantiles=True,
)


def stages() -> list[Stage]:
    """10 s of 20 requests/s: 100 ms each, 20 of them waiting in the first stage, 30 in the second.

    The second executes batches of 2 and of 4.
    """
    chain = Config(backend="ensemble", instances=None, steps=STEPS)
    return [
        _without_queue(stage(chain, {1: 200}, 0.05, 0.05, name=E.name, reasons={})),
        stage(config(), {1: 200}, 0.02, 0.02, name=A.name, reasons={}),
        stage(config(), {2: 40, 4: 30}, 0.03, 0.03, name=B.name, reasons={}),
    ]


def _without_queue(one: Stage) -> Stage:
    """As an ensemble, whose statistics do not say how long its stages' requests wait."""
    ends = (one.moments[0], one.moments[-1])
    silent = (replace(end, counters=replace(end.counters, queue_s=0.0)) for end in ends)
    return replace(one, moments=tuple(silent))


def view(metrics: Metrics = METRICS, made: Sequence[Stage] | None = None, **fields: Any) -> View:
    known: dict[str, Any] = {
        "version": "2.51.0",
        "rows": rows_of(stages() if made is None else made, metrics),
        "window_s": 10.0,
        "metrics_url": "http://h:8002/metrics",
        "has_quantiles": metrics.has_quantiles,
        "cpu_utilisation": 0.5,
    }
    return View("http://h:8000", **(known | fields))


def shown(what: View, width: int = 80, glyphs: Glyphs = UNICODE) -> str:
    return "\n".join(plain(render(what, width, glyphs)))


def test_all_of_it_fits_the_usual_terminal() -> None:
    assert (
        shown(view())
        == """\
h:8000, Triton 2.51.0, last 10.0 s
p50, p95, p99: of the last minute, as the server keeps them.

model         req/s mean ms p50 ms p95 ms p99 ms queue batch pending fail/s
chain          20.0     100   90.0    180    400   50%     -    7.00      0
└ decode       20.0    40.0      -    100      -   50%  1.00    3.00      0
└ classify     20.0    60.0      -      -      -   50%  2.86    4.00      0

batch sizes, share of executions
decode    1█100%
classify  2▅57%  4▄43%

time of a request
chain     ░░░░░░░░░░██████████   queue  50%  input   0%  infer  50%  output   0%
decode    ░░░░░░░░░░██████████   queue  50%  input   0%  infer  50%  output   0%
classify  ░░░░░░░░░░██████████   queue  50%  input   0%  infer  50%  output   0%

machine
CPU    ███████████████                 50%"""
    )


def test_a_narrow_terminal_shows_what_matters_most() -> None:
    text = shown(view(), 40)
    assert "model         req/s p95 ms queue batch" in text
    assert max(map(len, text.splitlines())) <= 40


def test_a_wide_terminal_shows_everything() -> None:
    assert "fail/s  rej/s busy" in shown(view(), 120)


FEW = settings(deadline=None, max_examples=30)


@FEW
@given(st.integers(0, 200), st.sampled_from([UNICODE, ASCII]))
def test_no_line_is_wider_than_the_terminal(width: int, glyphs: Glyphs) -> None:
    gpu = {"GPU-1234": Gpu(0.6, 1 << 33, 1 << 36)}
    what = view(gpus=gpu, loads={A: 3.0})
    for line in (*render(what, width, glyphs), *render(view(fault="x" * 300), width, glyphs)):
        assert sum(cells(span.text) for span in line) <= width


SOME = stages()


@FEW
@given(st.text(), st.text(), st.sampled_from([UNICODE, ASCII]))
def test_a_name_can_not_command_the_terminal(name: str, version: str, glyphs: Glyphs) -> None:
    hostile = [replace(one, model=Model(name + one.model.name, version)) for one in SOME]
    what = view(made=hostile, version=name, loads={hostile[0].model: 1.0}, fault=version)
    for what_it_shows in (what, replace(what, fault=None)):
        for line in plain(render(what_it_shows, 80, glyphs)):
            assert line.isprintable()
            assert glyphs is UNICODE or line.isascii()


def test_escapes_of_a_name_are_seen_as_such() -> None:
    assert r"\x1b[2Jdecode" in shown(view(version="\x1b[2Jdecode"))


def test_wide_letters_take_the_room_that_they_need() -> None:
    named = [replace(one, model=Model("画像" + one.model.name, "1")) for one in stages()]
    lines = render(view(made=named), 80, UNICODE)[3:7]
    assert {sum(cells(span.text) for span in line) for line in lines} == {75}


def test_without_unicode_the_shapes_still_differ() -> None:
    text = shown(view(), glyphs=ASCII)
    assert text.isascii()
    assert "..........##########" in text
    assert "2:57%  4:43%" in text


# What is not known


def test_no_quantile_is_made_up() -> None:
    text = shown(view(replace(METRICS, quantiles_s={}, has_quantiles=False)))
    assert "p95 ms" not in text
    assert "Start it with --metrics-config" in text


def test_without_metrics_nothing_of_them_is_said() -> None:
    made = [replace(one, reasons=None) for one in stages()]
    text = shown(view(Metrics(), made, metrics_url=None, cpu_utilisation=None), 120)
    assert "No metrics" in text
    assert "chain          20.0     100   50%     -       -      0      -    -" in text
    assert "machine" not in text


def test_metrics_of_another_server_are_named() -> None:
    text = shown(view(Metrics(), metrics_url=None, foreign_metrics_url="http://h:8002/metrics"))
    assert "The metrics at http://h:8002/metrics count other requests" in text


def test_a_full_queue_may_have_refused_more() -> None:
    bounded = replace(stages()[1], config=config(policy(max_queue_size=5)))
    assert "≥0" in shown(view(made=[bounded]), 120)
    assert ">=0" in shown(view(made=[bounded]), 120, ASCII)
    assert "≥" not in shown(view(), 120)


def test_batch_sizes_that_an_old_server_does_not_tell_are_not_shown() -> None:
    one = stages()[1]
    first, last = (
        replace(end, counters=replace(end.counters, sizes=None))
        for end in (one.moments[0], one.moments[-1])
    )
    assert "batch sizes" not in shown(view(made=[replace(one, moments=(first, last))]))


# Other states


def test_failures_are_marked_by_more_than_colour() -> None:
    text = shown(view(made=[stage(config(), {1: 100}, failures=50)]))
    assert "m !" in text
    assert "5.00" in text


def test_the_mark_of_failures_is_not_cut_off_with_a_long_name() -> None:
    text = shown(view(made=[stage(config(), {1: 100}, failures=50, name="m" * 90)]))
    assert "mmm… !   " in text


def test_a_server_that_is_away_has_no_figures() -> None:
    text = shown(View("http://h:8000", fault="http://h:8000/v2: Connection refused"))
    assert "! no answer, asking again: http://h:8000/v2: Connection refused" in text
    assert "req/s" not in text


def test_before_the_first_figures() -> None:
    assert "first figures in a moment" in shown(view(rows=(), window_s=0.0))
    assert "no models" in shown(view(rows=()))


def test_a_load_is_told() -> None:
    assert "decode was loaded 12 s ago; its counters began again." in shown(view(loads={A: 12.3}))


def test_gpus_are_shown_with_their_memory() -> None:
    gpus = {"GPU-a": Gpu(0.67, 12 << 30, 80 << 30), "GPU-b": Gpu()}
    text = shown(view(gpus=gpus))
    assert "67%  12.0 of 80.0 GiB  GPU-a" in text
    assert "-  memory unknown  GPU-b" in text


def test_of_many_batch_sizes_the_frequent_ones_are_shown() -> None:
    sizes = dict.fromkeys(range(1, 60), 1) | {64: 500}
    line = shown(view(made=[stage(config(max_batch_size=64), sizes)])).split("executions\n")[1]
    assert "64█89%" in line.splitlines()[0]
    assert line.splitlines()[0].endswith("…")


# A page


def numbered(count: int) -> list[tuple[Span, ...]]:
    return [(Span(str(n)),) for n in range(count)]


@pytest.mark.parametrize(
    ("height", "offset", "expected"),
    [
        (10, 0, ["0", "1", "2", "3", "4", "5"]),
        (4, 0, ["0", "1", "2", "3 more lines: down"]),
        (4, 2, ["0", "3", "4", "5"]),
        (1, 0, ["0"]),
        (0, 0, []),
    ],
)
def test_a_page_keeps_the_title_and_says_what_is_below(
    height: int, offset: int, expected: list[str]
) -> None:
    assert list(plain(page(numbered(6), height, offset))) == expected

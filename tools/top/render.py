"""From a view to lines of text of a given width; no terminal is needed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tools.top.bars import batches, machine, times
from tools.top.table import table
from tools.top.text import Glyphs, Line, Span, Style, cells, clean, cut
from tools.top.view import View


def render(view: View, width: int, glyphs: Glyphs) -> list[Line]:
    """Everything, none of it wider than ``width`` cells, and nothing that a terminal would obey."""
    lines = [*_head(view, width, glyphs), *_body(view, width, glyphs)]
    return [_fitted(line, width, glyphs) for line in lines]


def page(lines: Sequence[Line], height: int, offset: int) -> list[Line]:
    """As many lines as there is room for: the first always, the others from ``offset`` on.

    The last one says how many are below.
    """
    rest = lines[1 + offset :]
    shown, below = rest[: max(0, height - 1)], len(rest) - (height - 1)
    if below > 0 and shown:
        shown = [*shown[:-1], (Span(f"{below + 1} more lines: down", Style.DIM),)]
    return [*lines[: min(1, height)], *shown]


def plain(lines: Iterable[Line]) -> Iterator[str]:
    """Without styles."""
    return ("".join(span.text for span in line).rstrip() for line in lines)


def _fitted(line: Line, width: int, glyphs: Glyphs) -> Line:
    spans = []
    for span in line:
        text = cut(clean(span.text, glyphs), width)
        spans.append(Span(text, span.style))
        width -= cells(text)
    return tuple(spans)


def _head(view: View, width: int, glyphs: Glyphs) -> Iterator[Line]:
    window = f", last {view.window_s:.1f} s" if view.window_s else ""
    address = view.url.removeprefix("http://")
    title = f"{address}, Triton {view.version}{window}"
    yield (Span(clean(title, glyphs), Style.STRONG),)
    if view.fault is not None:
        yield from _wrapped(
            f"! no answer, asking again: {view.fault}", width, glyphs, Style.WARNING
        )
    for note in _notes(view):
        yield from _wrapped(note, width, glyphs, Style.DIM)


def _notes(view: View) -> Iterator[str]:
    """What must be known in order to read the figures."""
    for model, ago_s in view.loads.items():
        yield f"{model.name} was loaded {ago_s:.0f} s ago; its counters began again."
    if view.fault is not None or not view.window_s:
        return
    if view.foreign_metrics_url is not None:
        yield (
            f"The metrics at {view.foreign_metrics_url} count other requests than this server "
            "does and are not used: --metrics-url."
        )
    elif view.metrics_url is None:
        yield "No metrics: quantiles, pending, rejects and GPUs are not known (--metrics-url)."
    elif not view.has_quantiles:
        yield (
            "No quantiles: this server keeps none. Start it with --metrics-config "
            "summary_latencies=true for p50, p95 and p99."
        )
    else:
        yield "p50, p95, p99: of the last minute, as the server keeps them."


def _body(view: View, width: int, glyphs: Glyphs) -> Iterator[Line]:
    if not view.rows:
        if view.fault is None:
            yield (Span("no models" if view.window_s else "first figures in a moment"),)
        return
    yield ()
    yield from table(view, width, glyphs)
    yield from _section("batch sizes, share of executions", batches(view.rows, width, glyphs))
    yield from _section("time of a request", times(view.rows, width, glyphs))
    yield from _section("machine", machine(view, width, glyphs))


def _section(title: str, lines: Iterable[Line]) -> Iterator[Line]:
    lines = list(lines)
    if lines:
        yield ()
        yield (Span(title, Style.STRONG),)
        yield from lines


def _wrapped(text: str, width: int, glyphs: Glyphs, style: Style) -> Iterator[Line]:
    for part in textwrap.wrap(clean(text, glyphs), max(1, width)):
        yield (Span(part, style),)

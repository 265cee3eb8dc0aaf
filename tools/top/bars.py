"""Bars: batch sizes, where the time of a request goes, processors and their memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tools.statistics.metrics import Gpu
from tools.top.table import names_of
from tools.top.text import Glyphs, Line, Span, Style, cells, left, percent
from tools.top.view import Row, View

BAR = 30
"""Cells of the longest bar."""
_GIB = 1 << 30


def batches(rows: Sequence[Row], width: int, glyphs: Glyphs) -> Iterator[Line]:
    """A line for each model that executed something: its batch sizes, and how often each came."""
    for row, name in _named(rows, width, glyphs):
        if row.batches:
            yield (Span(name), *_sizes(row.batches, width - cells(name), glyphs))


def _named(rows: Sequence[Row], width: int, glyphs: Glyphs) -> Iterator[tuple[Row, str]]:
    """Names in a column of their own."""
    names = names_of(rows, glyphs)
    room = min(max(map(cells, names)) + 2, max(1, width // 3))
    for row, name in zip(rows, names, strict=True):
        yield row, left(name, room - 1, glyphs) + " "


def _sizes(counts: Mapping[int, int], room: int, glyphs: Glyphs) -> Iterator[Span]:
    """The most frequent sizes that there is room for, the smallest first."""
    total = sum(counts.values())
    frequent = sorted(counts, key=lambda size: -counts[size])
    while frequent and _width(frequent, counts, total) > room:
        frequent.pop()
    for size in sorted(frequent):
        share = counts[size] / total
        level = glyphs.levels[min(len(glyphs.levels) - 1, int(share * len(glyphs.levels)))]
        yield Span(f"{size}")
        yield Span(level, Style.COMPUTE)
        yield Span(percent(share) + "  ")
    if len(frequent) < len(counts):
        yield Span(glyphs.more, Style.DIM)


def _width(sizes: Sequence[int], counts: Mapping[int, int], total: int) -> int:
    return 1 + sum(len(f"{size}{percent(counts[size] / total)}") + 3 for size in sizes)


def times(rows: Sequence[Row], width: int, glyphs: Glyphs) -> Iterator[Line]:
    """A line for each model with requests: how much of their time they wait and are computed."""
    for row, name in _named(rows, width, glyphs):
        if row.mean_s:
            yield (Span(name), *_parts(row, row.mean_s, width - cells(name), glyphs))


def _parts(row: Row, mean_s: float, room: int, glyphs: Glyphs) -> Iterator[Span]:
    seen, stage = row.stage.seen, row.stage
    shares = {
        "queue": row.queue_share,
        "input": stage.per_request_s(seen.compute_input_s) / mean_s,
        "infer": stage.per_request_s(seen.compute_infer_s) / mean_s,
        "output": stage.per_request_s(seen.compute_output_s) / mean_s,
    }
    said = "  ".join(f"{name} {percent(share):>4}" for name, share in shares.items())
    bar = min(BAR, room - len(said) - 2) if room > len(said) + 10 else min(BAR, room)
    waits = min(bar, round(bar * (shares.pop("queue") or 0.0)))
    computes = min(bar - waits, round(bar * sum(share or 0.0 for share in shares.values())))
    yield Span(glyphs.queue * waits, Style.QUEUE)
    yield Span(glyphs.full * computes, Style.COMPUTE)
    yield Span(" " * (bar - waits - computes))
    if bar < room:
        yield Span(f"  {said}")


def machine(view: View, width: int, glyphs: Glyphs) -> Iterator[Line]:
    """A line for the CPU and for each GPU that the server tells of."""
    if view.cpu_utilisation is not None:
        yield _device("CPU", view.cpu_utilisation, "", width, glyphs)
    for number, (uuid, gpu) in enumerate(view.gpus.items()):
        yield _device(f"GPU {number}", gpu.utilisation, f"  {_memory(gpu)}  {uuid}", width, glyphs)


def _device(name: str, share: float | None, more: str, width: int, glyphs: Glyphs) -> Line:
    room = min(BAR, max(0, width - 50)) or min(BAR, max(0, width // 3))
    full = round(room * min(1.0, share or 0.0))
    bar = glyphs.full * full + " " * (room - full)
    return Span(f"{name:<7}"), Span(bar, Style.COMPUTE), Span(f" {percent(share):>4}{more}")


def _memory(gpu: Gpu) -> str:
    if gpu.memory_used_bytes is None or gpu.memory_total_bytes is None:
        return "memory unknown"
    return f"{gpu.memory_used_bytes / _GIB:.1f} of {gpu.memory_total_bytes / _GIB:.1f} GiB"

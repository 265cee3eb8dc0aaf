"""What a record shows, on a terminal or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from tools.record.intervals import Estimate
from tools.record.record import Record
from tools.record.summary import Summary, summarise
from tools.record.verdict import verdict
from tools.record.words import amount, ends
from tools.terminal import plain

UNKNOWN = "-"
_HEAD = ("load", "target", "answers/s", "p50 ms", "p95 ms", "p99 ms", "batch", "rounds", "errors")


def as_json(record: Record, path: Path) -> str:
    """The record's path, its summaries and the verdict, one object."""
    summaries = summarise(record)
    told = verdict(record, summaries)
    fields = {
        "record": str(path),
        "interrupted": record.interrupted,
        "summary": [asdict(one) for one in summaries],
        "verdict": {"sentence": told.sentence, **asdict(told)},
    }
    return json.dumps(fields, indent=1)


def as_text(record: Record, path: Path) -> str:
    """A table, a row for each load, target and protocol; the verdict; where the record is."""
    return "\n".join(_lines(record, path))


def _lines(record: Record, path: Path) -> Iterator[str]:
    found = summarise(record)
    summaries = sorted(found, key=lambda one: (one.load.kind, one.load.value))
    protocols = {one.protocol for one in summaries}
    rows = (_row(one, with_protocol=len(protocols) > 1) for one in summaries)
    yield from _table([_HEAD, *rows])
    steps = next((one.steps for one in record.targets if one.steps), ())
    stages = plain(f"mean of {'/'.join(steps)}") if steps else "mean"
    yield f"In brackets: 95% interval over rounds. Batch: {stages}."
    told = verdict(record, found)
    yield ""
    yield told.sentence
    yield from told.notes
    yield f"record: {plain(str(path))}"


def _row(one: Summary, with_protocol: bool) -> tuple[str, ...]:
    times = (one.p50_ms, one.p95_ms, one.p99_ms)
    return (
        one.load.label,
        f"{one.target} {one.protocol}" if with_protocol else one.target,
        *map(_estimate, (one.throughput_per_s, *times)),
        _batches(one),
        str(one.rounds),
        ", ".join(f"{count} {cause}" for cause, count in one.errors.items()) or "0",
    )


def _estimate(value: Estimate | None) -> str:
    return UNKNOWN if value is None else amount(value.value) + ends(value, amount)


def _batches(one: Summary) -> str:
    """Of every stage; an ensemble itself, the last one, executes nothing."""
    stages = one.stages[:-1] or one.stages
    means = (stage.mean_batch for stage in stages)
    return "/".join(UNKNOWN if mean is None else f"{mean:.1f}" for mean in means) or UNKNOWN


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (plain(cell).ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()

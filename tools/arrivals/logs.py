"""Arrivals in access logs: the time in each line, whichever server wrote it.

What is known to be read: Common and Combined Log Format (Apache, nginx, ingress-nginx; seconds),
HAProxy's and Envoy's own (milliseconds), nginx's ``$msec``, ISO 8601 in any line, and JSON lines.
The format is that which fits most of the first lines; the finest where several do.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

from ensemble.errors import ContractMismatch
from tools.arrivals.files import opened
from tools.arrivals.formats import Format, candidates
from tools.arrivals.stamps import Progress, Stamps

MAX_LINE = 1 << 16
"""Characters; a longer line is no request."""
_SAMPLE = 200
_RESOLUTIONS_S = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)


def read(
    files: Sequence[Path], path: str | None, time_field: str | None, progress: Progress
) -> Stamps:
    """Arrivals of all files together.

    Args:
        files: plain or gzip.
        path: only requests whose path begins so; None: all.
        time_field: of JSON lines; None: by the names that servers give it.
        progress: takes the bytes read.

    Raises:
        ContractMismatch: no line has a time.
        OSError: one can't be read.
    """
    names = ", ".join(one.name for one in files)
    times_s, skipped, formats = array("d"), Counter[str](), list[Format]()
    for file in files:
        with opened(file, progress) as text:
            lines = _lines(text)
            if sample := list(islice(lines, _SAMPLE)):  # a new log may be empty yet
                formats.append(_fitting(file, sample, time_field))
                _take(chain(sample, lines), formats[-1], path, times_s, skipped)
    if not times_s:
        to = f"requests to {path}" if path else "an access log with a time"
        raise ContractMismatch(f"{names}: expected {to}, got {_said(skipped) or 'nothing'}")
    remarks = dict.fromkeys(one.remark for one in formats if one.remark is not None)
    left_out = (f"left out: {_said(skipped)}",) if skipped else ()
    resolution_s = max(one.resolution_s for one in formats)
    return Stamps(times_s, resolution_s, f"log {names}", (*left_out, *remarks))


def _take(
    lines: Iterable[str],
    form: Format,
    path: str | None,
    times_s: array[float],
    skipped: Counter[str],
) -> None:
    """Add each line to the times, or to what is skipped and why."""
    for line in lines:
        if path is not None and not (form.path(line) or "").startswith(path):
            skipped["lines of other paths"] += 1
        elif (time_s := form.time_s(line)) is None:
            skipped["lines without a time"] += 1
        else:
            times_s.append(time_s)


def _said(skipped: Counter[str]) -> str:
    return ", ".join(f"{count} {why}" for why, count in skipped.items())


def _lines(text: TextIO) -> Iterator[str]:
    """Lines without those that are empty or a comment; of one that is too long, its beginning."""
    while line := text.readline(MAX_LINE):
        rest = line
        while len(rest) == MAX_LINE and not rest.endswith("\n"):
            rest = text.readline(MAX_LINE)
        if not line.isspace() and not line.startswith("#"):
            yield line


def _fitting(file: Path, sample: Sequence[str], time_field: str | None) -> Format:
    """The format of most lines; of those that fit as well, the finest, and the first."""
    found = _most(sample, candidates(time_field, in_quotes=False))
    if time_field is None and (found is None or 2 * found[0] < len(sample)):
        found = _most(sample, candidates(None, in_quotes=True)) or found
    if found is None:
        first = f"{sample[0].strip()!r:.100}"
        named = f" in {time_field}" if time_field else ""
        raise ContractMismatch(f"{file}: expected an access log with a time{named}, got {first}")
    return found[1]


def _most(sample: Sequence[str], formats: Iterable[Format]) -> tuple[int, Format] | None:
    """The format and how many lines it fits; None: no line."""
    fitting = []
    for form in formats:
        times_s = [time_s for line in sample if (time_s := form.time_s(line)) is not None]
        if times_s:
            fitting.append((len(times_s), form.stamped_to(_resolution_s(times_s))))
    return max(fitting, key=lambda one: (one[0], -one[1].resolution_s), default=None)


def _resolution_s(times_s: Sequence[float]) -> float:
    """The coarsest clock that could have stamped them all."""
    for step_s in _RESOLUTIONS_S:
        if all(abs(time_s / step_s - round(time_s / step_s)) < 1e-3 for time_s in times_s):
            return step_s
    return _RESOLUTIONS_S[-1]

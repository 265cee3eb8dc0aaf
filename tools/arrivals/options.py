"""The command line of ``tandem arrivals``, apart from what is slow to import."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ensemble.errors import ContractMismatch
from tools.arguments import INTERRUPTED, positive

if TYPE_CHECKING:
    from tools.arrivals.stamps import Progress, Stamps

BAR_ABOVE_BYTES = 20_000_000
_OF_SOURCE = {"trace": ("model",), "log": ("path", "time_field"), "record": ("cell",)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after ``tandem arrivals``."""
    source = parser.add_mutually_exclusive_group(required=True)
    for name, text in (
        ("--trace", "Triton's trace files; FILE.0 and so on too"),
        ("--log", "access logs, plain or gzip"),
    ):
        source.add_argument(name, nargs="+", type=Path, metavar="FILE", help=text)
    text = "a record of bench: when its requests were due"
    source.add_argument("--record", type=Path, metavar="RECORD", help=text)
    add = parser.add_argument
    add("--model", help="of a trace; default: the one that was called most")
    add("--path", help="of a log: only requests whose path begins so")
    add("--time-field", metavar="NAME", help="of a log in JSON lines: where the time is")
    add("--cell", type=positive, metavar="N", help="of a record; default: the first open loop")
    add("--out", type=Path, metavar="FILE", help="write the arrivals, for bench --arrivals FILE")
    add("--seed", type=int, default=0, help="for --out from stamps of a coarse clock")
    add("--json", action="store_true", help="the same facts for machines")


def run(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Read, judge, print, and write the arrivals file.

    Args:
        options: that ``add_arguments`` parsed.
        out: for the report.
        err: for the progress, which only a terminal gets, and the file that was written.

    Returns:
        0, or 130 when it was interrupted.

    Raises:
        ContractMismatch: for the command line, or a file that holds no arrivals.
        OSError: a file can't be read or written.
    """
    _check(options)
    try:
        _run(options, out, err)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _run(options: argparse.Namespace, out: TextIO, err: TextIO) -> None:
    from tools.arrivals.analysis import analyse
    from tools.arrivals.report import as_json, as_text

    stamps = _stamps(options, err)
    analysis = analyse(stamps.arrivals)
    if options.json:
        out.write(as_json(analysis, stamps.remarks) + "\n")
    else:
        out.writelines(line + "\n" for line in as_text(analysis, stamps.remarks))
    if options.out is not None:
        _write(options, stamps, analysis.group is not None, err)


def _check(options: argparse.Namespace) -> None:
    given = next(name for name in _OF_SOURCE if getattr(options, name) is not None)
    for source, names in _OF_SOURCE.items():
        for name in names:
            if source != given and getattr(options, name) is not None:
                flag = name.replace("_", "-")
                raise ContractMismatch(f"--{flag}: expected --{source} beside it, got --{given}")


def _stamps(options: argparse.Namespace, err: TextIO) -> Stamps:
    from tools.arrivals import cells, logs, trace

    if options.record is not None:
        return cells.read(options.record, options.cell)
    if options.trace is not None:
        files = trace.pieces(options.trace)
        with _progress(files, err) as progress:
            return trace.read(options.trace, options.model, progress)
    with _progress(options.log, err) as progress:
        return logs.read(options.log, options.path, options.time_field, progress)


@contextmanager
def _progress(files: Sequence[Path], err: TextIO) -> Iterator[Progress]:
    """A bar over the bytes, on a terminal."""
    from tqdm import tqdm

    size = sum(path.stat().st_size for path in files if path.is_file())
    hidden = size < BAR_ABOVE_BYTES or not err.isatty()
    with tqdm(total=size, unit="B", unit_scale=True, file=err, disable=hidden, leave=False) as bar:
        yield bar.update


def _write(options: argparse.Namespace, stamps: Stamps, in_groups: bool, err: TextIO) -> None:
    """As they came; spread over the steps of the clock, unless that would tear groups apart."""
    import numpy as np

    from tools.arrivals.stamps import spread
    from tools.load.arrivals_file import write

    arrivals = stamps.arrivals
    if not in_groups and stamps.resolution_s >= 1e-3:
        arrivals = spread(arrivals, np.random.default_rng(options.seed))
    write(arrivals, options.out)
    err.write(f"{options.out}: {len(arrivals.times_s)} arrivals; {arrivals.source}\n")

"""The command line of ``tandem bench``, apart from what is slow to import."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ensemble.errors import ContractMismatch
from ensemble.profiles import DEFAULT
from tools.arguments import (
    INTERRUPTED,
    add_deployment,
    deployment_of,
    milliseconds,
    minutes,
    positive,
    seconds,
)

if TYPE_CHECKING:
    from tools.bench.asked import Asked
    from tools.bench.targets import Endpoint, Own

DEFAULT_PROFILES = "baseline,interactive"
PROTOCOLS = ("grpc", "http")
ENGINES = ("tandem", "perf_analyzer")
_FOLDERS = re.compile(r"(?<![^=])~?/(?:[^,/]*/)*(?=[^,/])")
"""Of an absolute path, all but its last part."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after ``tandem bench``."""
    add = parser.add_argument
    add("--profiles", metavar="A,B", help=f"servers to start; default: {DEFAULT_PROFILES}")
    add("--repository", type=Path, metavar="DIR", help="start them on this model repository")
    text = "a server that runs already, its HTTP port; may be repeated"
    add("--url", action="append", default=[], metavar="[NAME=]HOST:PORT[,grpc=PORT]", help=text)
    add("--model", default="ensemble", help="model that is called")
    text = "concurrency=1:64, concurrency=1,8,32, rate=20:200 or rate=20,80; may be repeated"
    add("--load", action="append", default=[], metavar="LOAD", help=text)
    add("--points", type=positive, default=4, metavar="N", help="that a range stands for")
    text = "of a rate: constant, poisson, bursty[:factor=F,…] or a file; default: poisson"
    add("--arrivals", metavar="KIND", help=text)
    text = "name=N,share=S,priority=P,timeout-ms=T,rows=R,images=DIR; may be repeated"
    add("--class", action="append", default=[], dest="classes", metavar="CLASS", help=text)
    add("--images", type=Path, metavar="PATH", help="file or folder; default: sample photographs")
    add("--slo-p95-ms", type=milliseconds, metavar="MS", help="what p95 has to stay within")
    add("--protocol", default="grpc", metavar="A,B", help="grpc, http or both")
    add("--rounds", type=positive, default=10, metavar="N", help="repetitions of every cell")
    add("--duration-s", type=seconds, default=3.0, metavar="S", help="of one cell")
    add("--budget-min", type=minutes, metavar="MIN", help="begin no round that would end later")
    add("--timeout-s", type=seconds, default=10.0, metavar="S", help="that a caller waits")
    add("--seed", type=int, default=0, help="of everything random")
    add("--engine", choices=ENGINES, default=ENGINES[0], help="what sends the requests")
    add("--out", type=Path, metavar="FILE", help="the record; default: bench-DATE.json")
    add("--json", action="store_true", help="the summary for machines")
    add_deployment(parser.add_argument_group("servers that are started"), target="cpu")


def run(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Measure, write the record, print what it shows.

    Args:
        options: that ``add_arguments`` parsed, and ``words``, the command line.
        out: for the result.
        err: for the progress.

    Returns:
        0 good, 1 when no cell counts or none has an answer, 130 when Ctrl-C ended it; what was
        measured is written.

    Raises:
        ServingError: before or while it was measured; what was measured is written.
    """
    try:
        from tools.bench.run import bench  # it takes a second, in which Ctrl-C may come

        return bench(_asked(options), out, err)
    except KeyboardInterrupt:
        err.write("interrupted\n")
        return INTERRUPTED


def _asked(options: argparse.Namespace) -> Asked:
    from tools.bench.asked import Asked
    from tools.bench.classes import classes_of
    from tools.bench.loads import loads_of

    if options.seed < 0:
        raise ContractMismatch(f"--seed: expected 0 or more, got {options.seed}")
    return Asked(
        targets=_targets(options),
        model=options.model,
        loads=loads_of(options.load, options.arrivals, options.points, options.duration_s),
        mix=classes_of(options.classes, options.images, options.seed),
        protocols=_protocols(options.protocol),
        rounds=options.rounds,
        duration_s=options.duration_s,
        budget_s=None if options.budget_min is None else 60 * options.budget_min,
        timeout_s=options.timeout_s,
        seed=options.seed,
        slo_p95_ms=options.slo_p95_ms,
        engine=options.engine,
        out=options.out or Path(time.strftime("bench-%Y-%m-%d-%H%M%S.json")),
        command=("tandem", *without_folders(options.words)),
        as_json=options.json,
    )


def _targets(options: argparse.Namespace) -> list[Own | Endpoint]:
    from tools.bench.targets import foreign_target, named_apart, own_targets

    text = options.profiles or ""
    if not text and options.repository is None and not options.url:
        text = DEFAULT_PROFILES
    profiles = _words("--profiles", text) if text else []
    foreign = [foreign_target(url) for url in options.url]
    if foreign and not profiles and options.repository is None:
        return named_apart(foreign)
    deployment = deployment_of(options, DEFAULT)
    return named_apart([*own_targets(profiles, deployment, options.repository), *foreign])


def _words(option: str, text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise ContractMismatch(f"{option} {text}: expected names between the commas")
    return words


def _protocols(text: str) -> tuple[str, ...]:
    protocols = tuple(dict.fromkeys(_words("--protocol", text)))
    for one in protocols:
        if one not in PROTOCOLS:
            raise ContractMismatch(f"--protocol {text}: expected {' or '.join(PROTOCOLS)}")
    return protocols


def without_folders(words: Sequence[str]) -> list[str]:
    """The words, absolute paths cut down to their last part: a record is shown to others."""
    return [_FOLDERS.sub("", word) for word in words]

"""The command line of ``tandem doctor``, apart from what is slow to import."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ensemble.errors import ContractMismatch, DeadlineExceeded, ModelUnavailable
from tools.arguments import positive, seconds

if TYPE_CHECKING:
    from tools.doctor.window import Record, Target

MAX_TOGETHER = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after ``tandem doctor``."""
    add = parser.add_argument
    add("--url", required=True, metavar="HOST:PORT", help="HTTP endpoint of a running Triton")
    add("--model", action="append", default=[], help="watch this one; default: all that are loaded")
    add("--window-s", type=seconds, default=10.0, metavar="S", help="for how long to watch")
    add("--metrics-url", metavar="URL", help="Prometheus; default: same host, port 8002")
    text = f"send one request, then N at once (at most {MAX_TOGETHER}), to each"
    add("--probe", type=positive, metavar="N", help=text)
    add("--images", type=Path, metavar="PATH", help="file or folder that the probe sends from")
    add("--json", action="store_true", help="the same facts for machines")


def run(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Watch, judge, print.

    Args:
        options: that ``add_arguments`` parsed.
        out: for the report.
        err: for the progress, which only a terminal gets.

    Returns:
        0 when nothing worse than a note was found, 1 otherwise.

    Raises:
        ServingError: the server can't be watched; ContractMismatch for the command line.
    """
    from tools.doctor.causes import diagnose
    from tools.doctor.probe import probe
    from tools.doctor.report import as_json, as_text, is_clean
    from tools.doctor.window import watched

    images = _images_to_send(options)
    try:
        target = _target(options)
        server = watched(target, _watch(target, err))
    except DeadlineExceeded as error:  # no deadline of the caller's: the server is not to be had
        raise ModelUnavailable(str(error)) from error
    if options.probe and not server.interrupted:
        server = probe(server, options.probe, images)
    diagnoses = diagnose(server)
    lines = [as_json(server, diagnoses)] if options.json else as_text(server, diagnoses)
    for line in lines:
        out.write(line + "\n")
    return 0 if is_clean(diagnoses) else 1


def _target(options: argparse.Namespace) -> Target:
    from tools.doctor.window import Target
    from tools.statistics.address import reach

    found = reach(options.url, options.metrics_url)
    return Target(found.url, found.metrics_url, tuple(options.model), options.window_s)


def _images_to_send(options: argparse.Namespace) -> list[bytes]:
    """None without a probe.

    Raises:
        ContractMismatch: for what the command line asks and can't have.
    """
    if not options.probe:
        if options.images is not None:
            raise ContractMismatch(f"--images {options.images}: expected --probe N beside it")
        return []
    if options.probe > MAX_TOGETHER:
        raise ContractMismatch(f"--probe {options.probe}: expected at most {MAX_TOGETHER}")
    return _images(options.images)


def _images(path: Path | None) -> list[bytes]:
    """Encoded images; without a path the one that health checks send.

    Raises:
        ContractMismatch: there is none.
    """
    from tools.serve.health import PROBE_IMAGE

    if path is None:
        return [PROBE_IMAGE]
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    try:
        images = [one.read_bytes() for one in files[:MAX_TOGETHER]]
    except OSError as error:
        raise ContractMismatch(f"--images {path}: {error.strerror}") from error
    if not images:
        raise ContractMismatch(f"--images {path}: expected an image or more, got none")
    return images


def _watch(target: Target, err: TextIO) -> Record:
    """The window, with a bar on a terminal."""
    from tqdm import tqdm

    from tools.doctor.window import record

    bar = tqdm(
        total=target.window_s,
        file=err,
        disable=not err.isatty(),
        leave=False,
        bar_format="watching {l_bar}{bar}| {n:.0f}/{total:.0f} s",
    )
    with bar:
        return record(target, lambda passed_s: bar.update(passed_s - bar.n))

"""The verb's options, and from them to an exit code."""

from __future__ import annotations

import argparse
import shutil
import time
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from ensemble.errors import ContractMismatch
from tools.arguments import INTERRUPTED, seconds

if TYPE_CHECKING:
    from tools.top.watch import Watch

LEAST_INTERVAL_S = 0.1
"""Each look costs the server a little."""
LONGEST_INTERVAL_S = 3600.0
"""Nobody waits longer, and an operating system does not wait for ever."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after ``tandem top``."""
    add = parser.add_argument
    add("--url", required=True, metavar="HOST:PORT", help="HTTP endpoint of a running Triton")
    add("--model", action="append", default=[], help="show this one; default: all that are loaded")
    add("--metrics-url", metavar="URL", help="Prometheus; default: same host, port 8002")
    add("--interval-s", type=seconds, default=2.0, metavar="S", help="between two looks")
    add("--once", action="store_true", help="look twice, print the difference, end")
    add("--json", action="store_true", help="with --once: for machines")


def run(options: argparse.Namespace, out: TextIO) -> int:
    """Show what the server does until the user has seen enough.

    Args:
        options: that ``add_arguments`` parsed.
        out: for ``--once``.

    Returns:
        0, or 130 after Ctrl-C.

    Raises:
        ServingError: the server can't be reached; ContractMismatch for the command line.
    """
    from tools.top.watch import Watch

    if options.json and not options.once:
        raise ContractMismatch("--json: expected --once beside it")
    if not LEAST_INTERVAL_S <= options.interval_s <= LONGEST_INTERVAL_S:
        raise ContractMismatch(
            f"--interval-s {options.interval_s:g}: expected {LEAST_INTERVAL_S:g} to "
            f"{LONGEST_INTERVAL_S:g}"
        )
    screen = None if options.once else _screen()
    watch = Watch(options.url, options.metrics_url, tuple(options.model))
    try:
        first = watch.look()
        if screen is not None:
            screen.show(watch, first, options.interval_s)
            return 0
        time.sleep(options.interval_s)
        for line in _lines(watch, options.json, out):
            out.write(line + "\n")
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _screen() -> ModuleType:
    """The live view's, where one can be shown.

    Raises:
        ContractMismatch: it can't.
    """
    try:
        from tools.top import screen
    except ImportError as error:
        raise ContractMismatch(f"top: this Python has no curses ({error}); use --once") from error
    screen.check_terminal()
    return screen


def _lines(watch: Watch, json: bool, out: TextIO) -> list[str]:
    from tools.top.render import plain, render
    from tools.top.report import as_json
    from tools.top.text import glyphs_for

    view = watch.look()
    if json:
        return [as_json(view)]
    width = shutil.get_terminal_size((100, 24)).columns
    return list(plain(render(view, width, glyphs_for(out.encoding))))

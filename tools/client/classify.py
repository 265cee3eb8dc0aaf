"""``tandem classify``: images from files, folders or standard input to their classes.

One image a request, several requests at a time: a bad file fails alone, and putting requests
together is the server's work.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import partial
from typing import TextIO

from ensemble.errors import InvalidInput, ModelUnavailable, ServingError
from tools.client.address import DEFAULT_HOST, DEFAULT_PORTS
from tools.client.report import DEFAULT_TOP_K, Report, Result, progress
from tools.client.sources import Source, find, images
from tools.client.transport import PROTOCOLS, Transport, connected
from tools.client.window import in_order

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""
Connect = Callable[[str, str | None, float], AbstractContextManager[Transport]]


@dataclass(frozen=True)
class ClassifyOptions:
    """What to classify, and how to ask.

    Attributes:
        paths: files, folders, and ``-`` for standard input.
        protocol: ``grpc`` or ``http``.
        url: the server; None is this machine and Triton's own port.
        top_k: how many classes to show; None is ``DEFAULT_TOP_K``, or fewer if the server has.
        json: one JSON object a line.
        concurrency: the most requests at a time.
        timeout_s: how long one request may take.
    """

    paths: tuple[str, ...]
    protocol: str = "grpc"
    url: str | None = None
    top_k: int | None = None
    json: bool = False
    concurrency: int = 8
    timeout_s: float = 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after ``tandem classify``."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="image, folder of images, or - for standard input")
    add("--protocol", choices=tuple(PROTOCOLS), help="default: grpc; http for a URL http://...")
    ports = ", ".join(f"{DEFAULT_HOST}:{port} for {name}" for name, port in DEFAULT_PORTS.items())
    add("--url", metavar="HOST:PORT", help=f"the server; default: {ports}")
    add("--top-k", type=_positive, metavar="K", help=f"classes to show; default: {DEFAULT_TOP_K}")
    add("--json", action="store_true", help="one JSON object a line")
    add(
        "--concurrency",
        type=_positive,
        default=8,
        metavar="N",
        help="requests at a time; default: 8",
    )
    add(
        "--timeout-s", type=_seconds, default=30.0, metavar="S", help="for one request; default: 30"
    )


def options_from(args: argparse.Namespace) -> ClassifyOptions:
    """The options that ``add_arguments`` parsed."""
    is_http_url = (args.url or "").lower().startswith("http://")
    return ClassifyOptions(
        paths=tuple(args.paths),
        protocol=args.protocol or ("http" if is_http_url else "grpc"),
        url=args.url,
        top_k=args.top_k,
        json=args.json,
        concurrency=args.concurrency,
        timeout_s=args.timeout_s,
    )


def run(options: ClassifyOptions, out: TextIO, err: TextIO, connect: Connect = connected) -> int:
    """Classify and print, in the order of the input, as answers come.

    Args:
        options: see ``ClassifyOptions``.
        out: answers; with ``json`` failures too.
        err: failures by name, and a progress bar if it is a terminal.
        connect: protocol, URL and timeout to a transport.

    Returns:
        0 good (also when the reader of ``out`` has left), 1 a file failed, 2 wrong options,
        3 the server does not answer (nothing is sent after that), 130 interrupted.
    """
    report = Report(out, err, options.json, options.top_k)
    try:
        sources = find(options.paths)
        with (
            progress(len(sources), err) as report.bar,
            connect(options.protocol, options.url, options.timeout_s) as transport,
        ):
            _classify(sources, transport, options.concurrency, report)
    except ServingError as error:
        report.say(str(error))
        return error.exit_code
    except BrokenPipeError:
        _discard(out, err)
    except OSError as error:  # of the output: those of input and network are translated
        _discard(out)
        report.say(f"cannot write the results: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return report.exit_code


def _classify(
    sources: list[Source], transport: Transport, concurrency: int, report: Report
) -> None:
    ask = partial(_ask, transport)
    with closing(in_order(ask, images(sources), concurrency)) as results:
        for name, result in results:
            report.show(name, result)
            if isinstance(result, ModelUnavailable):
                report.say(
                    f"stopped there, with {report.answered} of {len(sources)} files answered"
                )
                return
    if report.failed:
        report.say(f"{report.failed} of {len(sources)} files failed")


def _ask(transport: Transport, image: tuple[str, bytes | OSError]) -> tuple[str, Result]:
    name, data = image
    if isinstance(data, OSError):
        return name, InvalidInput(data.strerror or str(data))
    try:
        return name, transport.classify([data])[0]
    except ServingError as error:
        return name, error


def _discard(*streams: TextIO) -> None:
    """Send what is still buffered nowhere, or Python complains about the pipe when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):
            continue  # not a file of the system
    os.close(nowhere)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, got {text}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text}")
    return seconds

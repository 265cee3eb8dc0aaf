"""``tandem classify``: images from files, folders or standard input to their classes.

One image a request, several requests at a time: a bad file fails alone, and putting requests
together is the server's work.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from functools import partial
from typing import TextIO

from ensemble.errors import InvalidInput, ModelUnavailable, ServingError
from tools.arguments import INTERRUPTED
from tools.client.options import ClassifyOptions
from tools.client.report import Report, Result, progress
from tools.client.sources import Source, find, images
from tools.client.transport import Transport, connected
from tools.client.window import in_order
from tools.terminal import discard

Connect = Callable[[str, str | None, float], AbstractContextManager[Transport]]


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
        discard(out, err)
    except OSError as error:  # of the output: those of input and network are translated
        discard(out)
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

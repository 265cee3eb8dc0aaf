"""The command line of ``tandem classify``, apart from what is slow to import."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from tools.arguments import positive, seconds
from tools.client.address import DEFAULT_HOST, DEFAULT_PORTS

DEFAULT_TOP_K = 3


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
    add("--protocol", choices=tuple(DEFAULT_PORTS), help="default: grpc; http for a URL http://...")
    ports = ", ".join(f"{DEFAULT_HOST}:{port} for {name}" for name, port in DEFAULT_PORTS.items())
    add("--url", metavar="HOST:PORT", help=f"the server; default: {ports}")
    add("--top-k", type=positive, metavar="K", help=f"classes to show; default: {DEFAULT_TOP_K}")
    add("--json", action="store_true", help="one JSON object a line")
    add(
        "--concurrency",
        type=positive,
        default=8,
        metavar="N",
        help="requests at a time; default: 8",
    )
    add("--timeout-s", type=seconds, default=30.0, metavar="S", help="for one request; default: 30")


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

"""The command line: parse, call, print. A verb a job; nothing heavy is imported before its verb."""

from __future__ import annotations

import argparse
import io
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from ensemble.errors import Overloaded, ServingError
from tools.arguments import (
    INTERRUPTED,
    add_deployment,
    add_profile,
    deployment_of,
    positive,
    seconds,
)
from tools.terminal import discard

Verb = Callable[[argparse.Namespace], int]
Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb.

    Returns:
        0 good (also when the reader of the output has left), 1 a check failed, 2 usage or
        configuration, 3 server not reachable, 130 interrupted.
    """
    try:
        code = _run(arguments)
        print(end="", flush=True)  # or Python finds out only when it ends
    except BrokenPipeError:
        discard(sys.stdout)
        return 0
    except KeyboardInterrupt:  # before a verb heeds it: what it needs is imported first
        return INTERRUPTED
    return code


def _run(arguments: Sequence[str] | None) -> int:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
    for stream in (sys.stdout, sys.stderr):  # what a terminal can't show must not end a verb
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if arguments is None else arguments
    options = build_parser().parse_args(words, argparse.Namespace(words=tuple(words)))
    verb: Verb = options.verb
    try:
        return verb(options)
    except ServingError as error:
        print(f"tandem: {error.label}: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"tandem: {error}", file=sys.stderr)
        return 2


def build_parser() -> argparse.ArgumentParser:
    """Every verb and its options."""
    parser = argparse.ArgumentParser(
        prog="tandem", description="Serve image classification on Triton, and batch well."
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    _add_serve(verbs)
    _add_classify(verbs)
    _add_health(verbs)
    _add_export(verbs)
    _add_import(verbs)
    _add_validate(verbs)
    _add_explain(verbs)
    _add_doctor(verbs)
    _add_top(verbs)
    _add_bench(verbs)
    _add_arrivals(verbs)
    _add_report(verbs)
    return parser


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Says a default only where there is one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return super()._get_help_string(action) if action.default else action.help


def _verb(verbs: Verbs, name: str, run: Verb, text: str) -> argparse.ArgumentParser:
    parser = verbs.add_parser(
        name,
        help=text,
        description=text,
        formatter_class=_Help,
    )
    parser.set_defaults(verb=run)
    return parser


def _add_serve(verbs: Verbs) -> None:
    from tools.serve.options import ServeOptions

    default = ServeOptions(Path(), "", "")
    parser = _verb(verbs, "serve", _serve, "Run a real Triton and keep it answering.")
    add_profile(parser)
    add_deployment(parser, target="cpu")
    parser.add_argument("--repository", type=Path, help="serve this model repository as it is")
    parser.add_argument("--address", default=default.address, help="interface to listen on")
    parser.add_argument("--http-port", type=int, default=default.http_port, help="HTTP")
    parser.add_argument("--grpc-port", type=int, default=default.grpc_port, help="gRPC")
    parser.add_argument("--metrics-port", type=int, default=default.metrics_port, help="Prometheus")
    parser.add_argument("--token-file", type=Path, help="management token: read, or made if absent")
    parser.add_argument(
        "--ready-timeout-s", type=seconds, default=120.0, help="for the first start"
    )
    parser.add_argument(
        "--triton-arg", action="append", default=[], metavar="FLAG", help="passed to tritonserver"
    )
    text = "trace when requests come into FILE.*, for tandem arrivals --trace FILE"
    parser.add_argument("--record-arrivals", type=Path, metavar="FILE", help=text)
    text = "of it kept; the oldest goes first"
    parser.add_argument("--record-arrivals-mb", type=positive, default=256, metavar="N", help=text)


def _serve(options: argparse.Namespace) -> int:
    from tools.serve.options import ServeOptions
    from tools.serve.recording import Recording
    from tools.serve.serve import ServeRequest, serve

    file: Path | None = options.record_arrivals
    kept = options.record_arrivals_mb * 1_000_000
    serve(
        ServeRequest(
            deployment=deployment_of(options, options.profile),
            options=ServeOptions(
                Path(),
                "",
                "",
                profile=options.profile,
                address=options.address,
                http_port=options.http_port,
                grpc_port=options.grpc_port,
                metrics_port=options.metrics_port,
                extra=tuple(options.triton_arg),
                recording=None if file is None else Recording(file.resolve(), kept),
            ),
            repository=options.repository,
            token_file=options.token_file,
            ready_timeout_s=options.ready_timeout_s,
        ),
        say=lambda line: print(line, flush=True),
    )
    return 0


def _add_classify(verbs: Verbs) -> None:
    from tools.client.options import add_arguments

    parser = _verb(verbs, "classify", _classify, "Labels and scores for files and folders.")
    add_arguments(parser)


def _classify(options: argparse.Namespace) -> int:
    from tools.client.classify import run
    from tools.client.options import options_from

    return run(options_from(options), sys.stdout, sys.stderr)


def _add_health(verbs: Verbs) -> None:
    parser = _verb(verbs, "health", _health, "Ask a server for a real answer, as probes should.")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="HTTP endpoint")
    parser.add_argument("--model", default="ensemble", help="model that is asked")
    parser.add_argument("--timeout-s", type=seconds, default=5.0, help="for the answer, seconds")
    parser.add_argument("--live", action="store_true", help="too busy to answer counts as alive")


def _health(options: argparse.Namespace) -> int:
    from tools.serve.health import check

    url = options.url if "://" in options.url else f"http://{options.url}"
    try:
        took_s = check(url.rstrip("/"), options.model, options.timeout_s)
    except Overloaded:
        if not options.live:
            raise
        print(f"{options.model} is busy")
        return 0
    print(f"{options.model} answered in {1e3 * took_s:.1f} ms")
    return 0


def _add_export(verbs: Verbs) -> None:
    parser = _verb(verbs, "export", _export, "Write a model repository for a target and profile.")
    add_profile(parser)
    add_deployment(parser, target="gpu")
    parser.add_argument("--out", type=Path, required=True, help="new or empty folder")
    parser.add_argument("--onnx", type=Path, help="classifier (default: the example)")


def _export(options: argparse.Namespace) -> int:
    from tools.example.efficientnet_lite0 import ensure
    from tools.export import export
    from tools.serve.serve import EXAMPLE_MODEL

    onnx = options.onnx or ensure(EXAMPLE_MODEL)
    print(export(deployment_of(options, options.profile), onnx, options.out))
    return 0


def _add_import(verbs: Verbs) -> None:
    from tools.importer.options import add_arguments

    parser = _verb(verbs, "import", _import, "Write a model repository for a model of your own.")
    add_arguments(parser)


def _import(options: argparse.Namespace) -> int:
    from tools.importer.options import run

    return run(options, sys.stdout, sys.stderr)


def _add_validate(verbs: Verbs) -> None:
    from tools.validate.options import add_arguments

    text = "Will this model and this configuration really batch? Without a server."
    add_arguments(_verb(verbs, "validate", _validate, text))


def _validate(options: argparse.Namespace) -> int:
    from tools.validate.options import options_from
    from tools.validate.run import validate

    return validate(options_from(options), sys.stdout, sys.stderr)


def _add_explain(verbs: Verbs) -> None:
    parser = _verb(verbs, "explain", _explain, "Cause, evidence and mend of a rule of validate.")
    parser.add_argument("code", nargs="?", help="code or name (default: list them all)")


def _explain(options: argparse.Namespace) -> int:
    from tools.validate.options import explain

    return explain(options, sys.stdout)


def _add_doctor(verbs: Verbs) -> None:
    from tools.doctor.options import add_arguments

    text = "Why is it not batching? Watch a running Triton and name the causes."
    add_arguments(_verb(verbs, "doctor", _doctor, text))


def _doctor(options: argparse.Namespace) -> int:
    from tools.doctor.options import run

    return run(options, sys.stdout, sys.stderr)


def _add_top(verbs: Verbs) -> None:
    from tools.top.options import add_arguments

    text = "What a running Triton is doing now, per model and for whole ensembles."
    add_arguments(_verb(verbs, "top", _top, text))


def _top(options: argparse.Namespace) -> int:
    from tools.top.options import run

    return run(options, sys.stdout)


def _add_bench(verbs: Verbs) -> None:
    from tools.bench.options import add_arguments

    text = "Measure profiles or servers against each other, interleaved, into one record."
    add_arguments(_verb(verbs, "bench", _bench, text))


def _bench(options: argparse.Namespace) -> int:
    from tools.bench.options import run

    return run(options, sys.stdout, sys.stderr)


def _add_arrivals(verbs: Verbs) -> None:
    from tools.arrivals.options import add_arguments

    text = "How do requests come? Uniform, Poisson-like, bursty or in groups, from a trace or log."
    add_arguments(_verb(verbs, "arrivals", _arrivals, text))


def _arrivals(options: argparse.Namespace) -> int:
    from tools.arrivals.options import run

    return run(options, sys.stdout, sys.stderr)


def _add_report(verbs: Verbs) -> None:
    from tools.report.options import add_arguments

    add_arguments(_verb(verbs, "report", _report, "A page, a table or a text from records."))


def _report(options: argparse.Namespace) -> int:
    from tools.report.options import run

    return run(options, sys.stdout, sys.stderr)

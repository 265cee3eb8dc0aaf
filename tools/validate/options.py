"""What ``tandem validate`` and ``tandem explain`` are asked for."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tools.arguments import milliseconds, positive
from tools.validate.releases import DEFAULT_RELEASE

REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
FORMATS = ("text", "json", "sarif", "github")


@dataclass(frozen=True)
class ValidateOptions:
    """A run of the validator.

    Attributes:
        repository: a model repository; None where only files are checked.
        configs: configurations on their own.
        models: ONNX files on their own.
        target: ``gpu`` for NVIDIA's container, ``cpu`` for the server of the PyPI wheel.
        triton: the release, as a container (24.10) or a server (2.51).
        profile: Triton's ``--model-config-name``.
        format: of the report.
        select: codes, beginnings of codes or names of the rules that are looked for; empty: all.
        ignore: those that are not.
        strict: warnings fail too.
        images: files or folders, for what runs images through the stages.
        reference: what the classifier's training fed it: a framework's name, or an ``.npz``.
        report: HTML file for the difference pictures of preprocessing.
        fix: where to write an ONNX file whose metadata is mended.
        memory_mb: what running models may take besides thrice the model, megabytes.
        slo_p95_ms: latency objective that queue timeouts are compared with, milliseconds.
    """

    repository: Path | None = REPOSITORY
    configs: tuple[Path, ...] = ()
    models: tuple[Path, ...] = ()
    target: str = "gpu"
    triton: str = DEFAULT_RELEASE
    profile: str = ""
    format: str = "text"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool = False
    images: tuple[Path, ...] = ()
    reference: str = "declared"
    report: Path | None = None
    fix: Path | None = None
    memory_mb: int = 300
    slo_p95_ms: float | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tandem validate``."""
    default = ValidateOptions()
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--repository", type=Path, help="model repository (default: the shipped one)")
    what.add_argument(
        "--model", type=Path, nargs="+", default=[], help="ONNX files", metavar="FILE"
    )
    what.add_argument("--config", type=Path, nargs="+", default=[], help="pbtxt", metavar="FILE")
    parser.add_argument("--target", choices=("gpu", "cpu"), default=default.target, help="server")
    parser.add_argument("--triton", default=default.triton, help="release: 24.10 or 2.51")
    parser.add_argument("--profile", default="", help="as tritonserver's --model-config-name")
    parser.add_argument("--format", choices=FORMATS, default=default.format, help="of the report")
    parser.add_argument("--select", type=words, default=(), help="codes, as C,E07 (default: all)")
    parser.add_argument("--ignore", type=words, default=(), help="codes or names")
    parser.add_argument("--strict", action="store_true", help="warnings fail too")
    parser.add_argument(
        "--images", type=Path, nargs="+", default=[], help="files or folders (default: samples)"
    )
    parser.add_argument(
        "--reference", default=default.reference, help="training's preprocessing: name or .npz"
    )
    parser.add_argument("--report", type=Path, help="difference pictures of preprocessing, HTML")
    parser.add_argument("--fix", type=Path, help="with --model: write one with mended metadata")
    parser.add_argument(
        "--memory-mb",
        type=positive,
        default=default.memory_mb,
        help="beside thrice the model; more runs larger batches",
    )
    parser.add_argument("--slo-p95-ms", type=milliseconds, help="for the sum of queue timeouts")


def _here(path: Path) -> Path:
    """As short as a person would write it, and as code hosts want it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def words(text: str) -> tuple[str, ...]:
    """Comma-separated."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def options_from(options: argparse.Namespace) -> ValidateOptions:
    """The parsed command line."""
    alone = bool(options.model or options.config)
    return ValidateOptions(
        repository=None if alone else options.repository or _here(REPOSITORY),
        configs=tuple(options.config),
        models=tuple(options.model),
        target=options.target,
        triton=options.triton,
        profile=options.profile,
        format=options.format,
        select=options.select,
        ignore=options.ignore,
        strict=options.strict,
        images=tuple(options.images),
        reference=options.reference,
        report=options.report,
        fix=options.fix,
        memory_mb=options.memory_mb,
        slo_p95_ms=options.slo_p95_ms,
    )


def explain(options: argparse.Namespace, out: TextIO) -> int:
    """Print one rule, or the list of all."""
    from tools.validate.catalogue import RULES, find

    if not options.code:
        for rule in RULES.values():
            out.write(f"{rule.code} {rule.severity.value:7} {rule.name}\n")
        return 0
    rule = find(options.code)
    out.write(f"{rule.code} {rule.name} ({rule.severity.value})\n")
    for title, said in (("Cause", rule.cause), ("Evidence", rule.evidence), ("Mend", rule.mend)):
        out.write(f"\n{title}: {said}\n")
    return 0

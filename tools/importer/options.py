"""The command line of ``tandem import``, apart from what is slow to import."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ensemble.profiles import DEFAULT, PROFILES
from tools.arguments import default_instances, positive

if TYPE_CHECKING:
    from tools.importer.plan import ImportRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after ``tandem import``."""
    from ensemble.model_config import SCORES, TARGETS
    from ensemble.presets import PRESETS

    add = parser.add_argument
    add("onnx", type=Path, metavar="MODEL.onnx", help="classifier: images in, one row a class out")
    add("--labels", type=Path, required=True, metavar="FILE", help="class names, one a line, UTF-8")
    presets = ", ".join(PRESETS)
    add("--transform", required=True, metavar="NAME", help=f"{presets}, or a FILE.toml")
    add("--out", type=Path, required=True, metavar="DIR", help="new or empty folder")
    add("--output", metavar="NAME", help="which output, where the model has several")
    add("--scores", choices=("auto", *SCORES), default="auto", help="how a score is made")
    add("--top-k", type=positive, metavar="K", help="classes an answer holds; default: up to 5")
    add("--max-batch-size", type=positive, default=64, metavar="N", help="images; default: 64")
    add("--target", choices=TARGETS, default="cpu", help="cpu: `tandem serve` on any machine")
    add("--profile", choices=PROFILES, default=DEFAULT, help="batching settings")
    add("--instances", type=positive, metavar="N", help="of the model; default on cpu: one a core")


def run(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Check, plan, write; then say what was decided and how to serve it.

    Args:
        options: what ``add_arguments`` parsed.
        out: the folder that was written.
        err: decisions and the next command.

    Returns:
        0.

    Raises:
        ContractMismatch: what does not fit, with both sides; nothing is written then.
        CheckFailed: the model does not batch, or the target can't load it; nothing is written.
    """
    from tools.importer.model import read
    from tools.importer.pixels import declared_size
    from tools.importer.plan import plan, summary
    from tools.importer.proof import prove
    from tools.importer.write import write

    request = _request(options)
    model = read(options.onnx, options.output, declared_size(options.transform))
    made = plan(model, request)
    err.write(f"running {options.onnx} in batches\n")
    prove(options.onnx, options.max_batch_size, options.target)
    folder = write(made, options.out)
    err.writelines(f"{line}\n" for line in summary(made))
    if options.target == "cpu":
        profile = "" if options.profile == DEFAULT else f" --profile {options.profile}"
        err.write(f"next     tandem serve --repository {folder}{profile}\n")
    out.write(f"{folder}\n")
    return 0


def _request(options: argparse.Namespace) -> ImportRequest:
    from ensemble.model_config import Deployment
    from tools.importer.plan import ImportRequest

    return ImportRequest(
        labels=options.labels,
        transform=options.transform,
        scores=options.scores,
        top_k=options.top_k,
        deployment=Deployment(
            target=options.target,
            profile=options.profile,
            max_batch_size=options.max_batch_size,
            instances=options.instances or default_instances(options.target),
        ),
    )

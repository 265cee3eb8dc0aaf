"""Values that the command line takes, checked where they are parsed."""

from __future__ import annotations

import argparse
import math
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ensemble.model_config import Deployment

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def positive(text: str) -> int:
    """A whole number of 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, got {text}")
    return int(text)


def seconds(text: str) -> float:
    """A time above 0."""
    return _time(text, "seconds")


def _time(text: str, unit: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected {unit} above 0, got {text}")
    return value


def milliseconds(text: str) -> float:
    """A time above 0."""
    return _time(text, "milliseconds")


def minutes(text: str) -> float:
    """A time above 0."""
    return _time(text, "minutes")


def default_instances(target: str) -> int:
    """Instances of the classifier unless told: one a core where it runs on them."""
    return len(os.sched_getaffinity(0)) if target == "cpu" else 1


def add_profile(parser: argparse.ArgumentParser) -> None:
    """The batching settings."""
    from ensemble.profiles import DEFAULT, PROFILES

    parser.add_argument("--profile", choices=PROFILES, default=DEFAULT, help="batching settings")


def add_deployment(parser: argparse._ActionsContainer, target: str) -> None:
    """What is rendered, apart from the profile; ``target`` is the default one."""
    from ensemble.model_config import CLASSIFIERS, PREPROCESSORS, TARGETS, Deployment

    default = Deployment()
    parser.add_argument("--target", choices=TARGETS, default=target, help="which Triton")
    parser.add_argument(
        "--instances", type=int, help="of the classifier (default on cpu: one a core)"
    )
    parser.add_argument("--max-batch-size", type=int, default=default.max_batch_size, help="images")
    parser.add_argument("--top-k", type=int, default=default.top_k, help="classes an answer holds")
    parser.add_argument(
        "--preprocess",
        choices=PREPROCESSORS,
        default=default.preprocess,
        help="gpu target: host of DALI",
    )
    parser.add_argument(
        "--classifier", choices=CLASSIFIERS, default=default.classifier, help="gpu target: runtime"
    )
    parser.add_argument("--fused", action="store_true", help="cpu target: all stages in one model")


def deployment_of(options: argparse.Namespace, profile: str) -> Deployment:
    """What ``add_deployment`` parsed, with a profile.

    Raises:
        ContractMismatch: it can't be rendered.
    """
    from ensemble.model_config import Deployment

    default = default_instances(options.target)
    return Deployment(
        target=options.target,
        profile=profile,
        max_batch_size=options.max_batch_size,
        top_k=options.top_k,
        instances=default if options.instances is None else options.instances,
        preprocess=options.preprocess,
        classifier=options.classifier,
        fused=options.fused,
    )

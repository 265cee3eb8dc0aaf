"""Values that the command line takes, checked where they are parsed."""

from __future__ import annotations

import argparse
import math
import os


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


def default_instances(target: str) -> int:
    """Instances of the classifier unless told: one a core where it runs on them."""
    return len(os.sched_getaffinity(0)) if target == "cpu" else 1

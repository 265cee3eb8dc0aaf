"""Asks a process of its own to check a model, and outlives whatever the model does to it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.validate.findings import Finding, Place, Rule
from tools.validate.model.request import ModelUnderTest, encode
from tools.validate.rules import onnx as rules

ROOT = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-m", "tools.validate.model.child"]
RULES = {rule.code: rule for rule in vars(rules).values() if isinstance(rule, Rule)}


@dataclass(frozen=True)
class Ended:
    """How the process came to its end.

    Attributes:
        lines: what it had said.
        why: it came to a bad end by this; empty after a good one.
    """

    lines: Sequence[list[str]]
    why: str


def check_model(model: ModelUnderTest) -> Iterator[Finding]:
    """What is wrong with an ONNX file, and whether it batches.

    Args:
        model: the file, what it is meant for, and whether it may be run.

    Yields:
        Findings of the rules O001 and on. A file that crashes ONNX Runtime, takes too much memory
        or does not end is one too.
    """
    place = Place(model.path)
    ended = _run(model)
    stage = "reading"
    for kind, *words in ended.lines:
        if kind == "finding":
            yield RULES[words[0]].at(place, words[1])
        elif kind == "stage":
            stage = words[0]
    if ended.why:
        yield rules.UNCHECKABLE.at(place, f"{ended.why} (at: {stage})")


def _run(model: ModelUnderTest) -> Ended:
    with subprocess.Popen(
        COMMAND,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, said = process.communicate(encode(model) + "\n", model.time_limit_s)
            why = explain(process.returncode, said)
        except subprocess.TimeoutExpired:
            process.kill()
            out, said = process.communicate()
            why = f"no end within {model.time_limit_s:g} s"
    lines = [json.loads(line) for line in out.splitlines() if line.endswith("]")]
    return Ended(lines, "" if ["end"] in lines else why)


def explain(code: int, said: str) -> str:
    """Why a process ended, from its exit code and what it wrote to stderr, in a line."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    last = said.strip().splitlines()[-1:] or ["no reason given"]
    return "out of memory" if "MemoryError" in last[0] else last[0][:300]

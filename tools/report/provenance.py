"""What was measured, on what, and how to do it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from tools.report.blocks import facts, folded
from tools.report.markup import node
from tools.report.sheet import Sheet


def repeat(one: Sheet) -> Iterator[Element]:
    """The command, and everything that it ran on."""
    yield node("pre", node("code", shlex.join(one.record.command)))
    yield facts(origin(one))


def origin(one: Sheet) -> dict[str, str]:
    """What it ran on, by name."""
    return {
        "Measured": one.record.created,
        "Engine": one.record.engine,
        "Seed": str(one.record.seed),
        **{_named(name): _flat(value) for name, value in one.record.origin.items()},
    }


def _named(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_flat(each)}" for name, each in value.items())
    return value if isinstance(value, str) else json.dumps(value)


def configurations(one: Sheet) -> Iterator[Element]:
    """Of each target, as its server said them."""
    for target in one.record.targets:
        profile = "" if target.profile is None else f", profile {target.profile}"
        texts = [
            (node("h4", model), node("pre", json.dumps(config, indent=1)))
            for model, config in target.configurations.items()
        ]
        summary = f"{target.name}: {target.model} on {target.server}{profile}"
        yield folded(summary, texts or node("p", "The server said nothing of its models."))

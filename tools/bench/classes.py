"""From ``--class`` and ``--images`` to the classes of the mix, with their images read."""

from __future__ import annotations

import functools
import statistics
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ensemble.errors import ContractMismatch
from tools.arguments import positive
from tools.client.sources import find
from tools.load.loads import RequestClass
from tools.load.photographs import photographs
from tools.record.record import Kind

MAX_IMAGES = 256
"""Of one folder; of more, as many at random. Each is encoded once and kept."""
MAX_BYTES = 512 << 20
MAX_PRIORITY = 2**32 - 1
SHARES_ADD_UP_TO = 1e-6


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise ValueError
    return share


def _timeout_ms(text: str) -> float:
    timeout_ms = float(text)
    if not 0.001 <= timeout_ms <= 1e9:  # Triton's unit is a microsecond
        raise ValueError
    return timeout_ms


def _priority(text: str) -> int:
    priority = int(text)
    if not 0 < priority <= MAX_PRIORITY:
        raise ValueError
    return priority


_SETTINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "name": ("name", str),
    "share": ("share", _share),
    "priority": ("priority", _priority),
    "timeout-ms": ("timeout_ms", _timeout_ms),
    "rows": ("rows", positive),
    "images": ("source", Path),
}


def classes_of(texts: Sequence[str], images: Path | None, seed: int) -> tuple[RequestClass, ...]:
    """The classes that the command line names; without any, one.

    Args:
        texts: of ``--class``; shares that are left out divide what is left.
        images: of ``--images``, for classes that name none; None: the sample photographs.
        seed: of the choice among too many images.

    Raises:
        ContractMismatch: a setting, a share or an image is wrong.
    """
    settings = [_settings(text, number) for number, text in enumerate(texts, start=1)] or [{}]
    names = [one.get("name", RequestClass.name) for one in settings]
    if len(set(names)) < len(names):
        raise ContractMismatch(f"--class: expected a name of its own for each, got {names}")
    read = functools.cache(functools.partial(_images, seed=seed))
    return tuple(
        RequestClass(images=read(one.get("source", images)), **{"source": images, **one})
        for one in _with_shares(settings)
    )


def _settings(text: str, number: int) -> dict[str, Any]:
    found: dict[str, Any] = {"name": f"class-{number}"}
    for setting in text.split(","):
        word, _, value = setting.partition("=")
        try:
            name, parse = _SETTINGS[word]
            found[name] = parse(value)
        except (KeyError, ValueError, ArgumentTypeError) as error:
            expected = ", ".join(f"{one}=…" for one in _SETTINGS)
            raise ContractMismatch(f"--class {text}: expected {expected}, got {setting}") from error
        if not value:
            raise ContractMismatch(f"--class {text}: expected a value behind {word}=")
    return found


def _with_shares(settings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    given = [one["share"] for one in settings if "share" in one]
    left = 1 - sum(given)
    missing = len(settings) - len(given)
    if (missing and left <= 0) or (not missing and abs(left) > SHARES_ADD_UP_TO):
        raise ContractMismatch(f"--class: expected shares that add up to 1, got {sum(given):g}")
    return [{"share": left / max(1, missing), **one} for one in settings]


def _images(path: Path | None, seed: int) -> tuple[bytes, ...]:
    if path is None:
        return photographs()
    sources = find([str(path)])
    if len(sources) > MAX_IMAGES:
        random = np.random.default_rng(seed)
        chosen = sorted(random.choice(len(sources), MAX_IMAGES, replace=False).tolist())
        sources = [sources[place] for place in chosen]
    found: list[bytes] = []
    for source in sources:
        try:
            found.append(source.read())
        except OSError as error:
            reason = error.strerror or error
            raise ContractMismatch(f"--images {source.name}: {reason}") from error
        if not found[-1]:
            raise ContractMismatch(f"--images {source.name}: expected an image, got an empty file")
        if sum(map(len, found)) > MAX_BYTES:
            raise ContractMismatch(f"--images {path}: expected at most {MAX_BYTES >> 20} MiB")
    return tuple(found)


def alone(one: RequestClass, rows: int | None = None) -> RequestClass:
    """The class as the only one of its mix, with so many rows, for a server that is still cold.

    It may take its time, so there is no timeout in the server's queues.
    """
    return replace(one, share=1.0, timeout_ms=0.0, rows=one.rows if rows is None else rows)


def kind_of(one: RequestClass) -> Kind:
    """What the record keeps of a class: no path, no image."""
    where = "the sample photographs" if one.source is None else one.source.resolve().name
    return Kind(
        name=one.name,
        share=one.share,
        priority=one.priority,
        timeout_ms=one.timeout_ms,
        rows=one.rows,
        images=f"{where} ({len(one.images)})",
        median_bytes=int(statistics.median(map(len, one.images))),
    )

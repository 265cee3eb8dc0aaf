"""A ``config.pbtxt`` as it was read: text, message, and where each field stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.validate.findings import Place
from tools.validate.scan import Position


@dataclass(frozen=True)
class Source:
    """One configuration.

    Attributes:
        path: the file.
        config: the message; None where it can't be read at all.
        positions: of every field, by path: ``dynamic_batching.preferred_batch_size[1]``.
        words: the scalars as they are written, by path.
    """

    path: Path
    config: Any
    positions: Mapping[str, Position] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    def place(self, *fields: str) -> Place:
        """Where the first of ``fields`` that is written stands, or the nearest thing around it."""
        for name in fields:
            while name:
                for one in (name, f"{name}[0]"):
                    if one in self.positions:
                        return Place(self.path, *self.positions[one])
                name = name.rpartition(".")[0]
        return Place(self.path)

"""What ``validate`` says: a rule, where it was broken, and how.

A rule is constant and explains itself (``tandem explain CODE``); a finding is one breach of it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class Severity(str, enum.Enum):
    """How bad a breach is."""

    ERROR = "error"
    """The server refuses, or batching can't work, or answers are wrong."""
    WARNING = "warning"
    """Accepted, and harmful."""
    NOTE = "note"
    """Worth knowing: what was not checked, or what the server will add by itself."""


@dataclass(frozen=True)
class Place:
    """Where in which file; lines and columns count from 1.

    Attributes:
        path: a file, or the folder that lacks one.
        line: None where the finding is about the file as a whole.
        column: None where the line is.
    """

    path: Path
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """``path:line:column``, as editors open it."""
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part)


@dataclass(frozen=True)
class Rule:
    """One thing that may be wrong.

    Attributes:
        code: stable; a letter for the family and three digits.
        name: stable, in words.
        severity: of every breach.
        cause: what is wrong when the rule is broken, in a sentence or two.
        evidence: how this is known: Triton's source, the live server, a measurement.
        mend: what to do about it.
    """

    code: str
    name: str
    severity: Severity
    cause: str
    evidence: str
    mend: str

    def at(self, place: Place, message: str) -> Finding:
        """A breach of this rule.

        Args:
            place: the file, line and column.
            message: what is wrong, what was expected and what was got, both sides quoted.
        """
        return Finding(self, place, message)


@dataclass(frozen=True)
class Finding:
    """One breach of one rule."""

    rule: Rule
    place: Place
    message: str


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Those that are errors."""
    return [finding for finding in findings if finding.rule.severity is Severity.ERROR]

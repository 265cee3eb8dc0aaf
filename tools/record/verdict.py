"""What a record shows, in a sentence that can't flatter."""

from __future__ import annotations

from dataclasses import dataclass

from tools.record.compare import AtSlo, Difference, at_equal_load, at_equal_slo
from tools.record.record import Record


@dataclass(frozen=True)
class Verdict:
    """What may be said of a record.

    Attributes:
        sentence: for people.
        notes: what a reader has to know to trust it, a sentence each; may be empty.
        at_equal_load: the differences behind it.
        at_equal_slo: the same, at the SLO.
    """

    sentence: str
    notes: tuple[str, ...]
    at_equal_load: tuple[Difference, ...]
    at_equal_slo: tuple[AtSlo, ...]


def verdict(record: Record) -> Verdict:
    """The sentence, and what is behind it."""
    return Verdict("Nothing can be said yet.", (), at_equal_load(record), at_equal_slo(record))

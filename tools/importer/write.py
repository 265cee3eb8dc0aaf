"""A planned import to a model repository, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from tools.export import Parts, write_repository
from tools.importer.plan import Plan


def write(made: Plan, out: Path) -> Path:
    """The repository at ``out``.

    Raises:
        ContractMismatch: ``out`` holds something, or weights would take the place of our files.
    """
    parts = Parts(
        onnx=made.model.path,
        weights=made.model.weights,
        labels="\n".join(made.labels) + "\n",
        verb="import",
    )
    return write_repository(made.deployment, parts, out)

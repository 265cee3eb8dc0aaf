"""The model is imported only once it is known to batch."""

from __future__ import annotations

from pathlib import Path

from ensemble.errors import CheckFailed
from tools.validate.findings import errors
from tools.validate.model import ModelUnderTest, check_model
from tools.validate.releases import DEFAULT_RELEASE, installed, release


def prove(onnx: Path, max_batch_size: int, target: str) -> None:
    """Run the model alone and in company.

    Args:
        onnx: the model.
        max_batch_size: images of the largest batch.
        target: ``gpu`` for the ONNX Runtime of the container, ``cpu`` for the installed one.

    Raises:
        CheckFailed: it does not batch, or the target can't load it; with every error that the
            validator found.
    """
    of = release(DEFAULT_RELEASE) if target == "gpu" else installed()
    found = check_model(ModelUnderTest(onnx, max_batch_size=max_batch_size, release=of))
    faults = errors(found)
    if faults:
        lines = (f"{e.rule.code} {e.rule.name}: {e.message}. {e.rule.mend}" for e in faults)
        raise CheckFailed(f"{onnx} can't be served in batches:\n" + "\n".join(lines))

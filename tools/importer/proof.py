"""The model is imported only once it is known to batch."""

from __future__ import annotations

from pathlib import Path

from ensemble.errors import CheckFailed
from tools.validate.findings import Severity
from tools.validate.model import ModelUnderTest, check_model


def prove(onnx: Path, max_batch_size: int) -> None:
    """Run the model alone and in company.

    Raises:
        CheckFailed: it does not batch; with every error that the validator found.
    """
    found = check_model(ModelUnderTest(onnx, max_batch_size=max_batch_size))
    errors = [finding for finding in found if finding.rule.severity is Severity.ERROR]
    if errors:
        lines = (f"{e.rule.code} {e.rule.name}: {e.message}. {e.rule.mend}" for e in errors)
        raise CheckFailed(f"{onnx} does not batch:\n" + "\n".join(lines))

"""A configuration as text, and what the validator says of it."""

from __future__ import annotations

from pathlib import Path

from tools.validate.configurations import check_models, read_file, read_repository
from tools.validate.findings import Finding
from tools.validate.target import Target


def findings_of(text: str, folder: Path, target: Target | None = None) -> list[Finding]:
    """Of a configuration on its own."""
    path = folder / "config.pbtxt"
    path.write_text(text, encoding="utf-8", newline="")
    models, findings = read_file(path, target or Target("cpu"))
    return [*findings, *check_models(models, together=False)]


def findings_in(repository: Path, target: Target | None = None) -> list[Finding]:
    """Of a repository."""
    models, findings = read_repository(repository, target or Target("cpu"))
    return [*findings, *check_models(models)]


def codes(findings: list[Finding]) -> set[str]:
    return {finding.rule.code for finding in findings}

"""Findings as text, JSON, SARIF and GitHub's annotations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from tools.validate.findings import Finding, Severity

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """By file, then by line, errors first within a line; none twice."""
    return sorted(
        dict.fromkeys(findings),
        key=lambda finding: (
            str(finding.place.path),
            finding.place.line or 0,
            _ORDER[finding.rule.severity],
            finding.rule.code,
        ),
    )


def text(findings: Sequence[Finding]) -> str:
    """One line a finding, a line on how to mend it, and a verdict."""
    lines = []
    for finding in findings:
        rule = finding.rule
        said = _one_line(finding.message)
        lines.append(f"{finding.place}: {rule.severity.value} {rule.code} {rule.name}: {said}")
        if rule.severity is not Severity.NOTE:
            lines.append(f"    {rule.mend}")
    return "\n".join([*lines, verdict(findings)])


def _one_line(text: str) -> str:
    """Control characters that came with a quoted value, written out."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def verdict(findings: Sequence[Finding]) -> str:
    """How many of each, in a sentence."""
    counts = Counter(finding.rule.severity for finding in findings)
    parts = [
        f"{counts[severity]} {severity.value}{'s' if counts[severity] != 1 else ''}"
        for severity in _ORDER
        if counts[severity]
    ]
    if not parts:
        return "nothing found"
    return f"{', '.join(parts)}; 'tandem explain CODE' tells more"


def as_json(findings: Sequence[Finding]) -> str:
    """A list of objects, one a finding."""
    return json.dumps(
        [
            {
                "code": finding.rule.code,
                "name": finding.rule.name,
                "severity": finding.rule.severity.value,
                "file": str(finding.place.path),
                "line": finding.place.line,
                "column": finding.place.column,
                "message": finding.message,
                "mend": finding.rule.mend,
            }
            for finding in findings
        ],
        indent=2,
    )


def sarif(findings: Sequence[Finding]) -> str:
    """SARIF 2.1.0, which code hosts and editors read.

    Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
    """
    rules = {finding.rule.code: finding.rule for finding in findings}
    driver = {
        "name": "tandem validate",
        "informationUri": "https://github.com/triton-inference-server/server",
        "rules": [
            {
                "id": rule.code,
                "name": rule.name,
                "shortDescription": {"text": rule.cause},
                "fullDescription": {"text": f"{rule.cause} {rule.evidence}"},
                "help": {"text": rule.mend},
                "defaultConfiguration": {"level": rule.severity.value},
            }
            for rule in rules.values()
        ],
    }
    run = {"tool": {"driver": driver}, "results": [_result(finding) for finding in findings]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(finding: Finding) -> dict[str, Any]:
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": _uri(finding)},
    }
    if finding.place.line:
        physical["region"] = {
            "startLine": finding.place.line,
            "startColumn": finding.place.column or 1,
        }
    return {
        "ruleId": finding.rule.code,
        "level": finding.rule.severity.value,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": physical}],
    }


def _uri(finding: Finding) -> str:
    path = finding.place.path
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def github(findings: Sequence[Finding]) -> str:
    """Workflow commands, which GitHub shows beside the lines of a pull request.

    Source: GitHub, workflow commands for GitHub Actions.
    """
    return "\n".join(_command(finding) for finding in findings)


def _command(finding: Finding) -> str:
    level = {"note": "notice"}.get(finding.rule.severity.value, finding.rule.severity.value)
    place = finding.place
    properties = {"file": str(place.path), "line": place.line, "col": place.column}
    properties["title"] = f"{finding.rule.code} {finding.rule.name}"
    listed = ",".join(
        f"{name}={_escaped(str(value), ':,')}" for name, value in properties.items() if value
    )
    return f"::{level} {listed}::{_escaped(finding.message)}"


def _escaped(text: str, more: str = "") -> str:
    for mark in "%\r\n" + more:
        text = text.replace(mark, f"%{ord(mark):02X}")
    return text


FORMATS: dict[str, Callable[[Sequence[Finding]], str]] = {
    "text": text,
    "json": as_json,
    "sarif": sarif,
    "github": github,
}

"""The validator and the real server judge the same repositories, and agree.

What only running a model's code can tell is not here: a model.py that raises, imports what is not
installed, or completes its configuration wrongly. Rules of backends that the wheel's server does
not have (ONNX Runtime, TensorRT, DALI) are tested on their own.
"""

from __future__ import annotations

import http.client
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.validate.corpus import Case, cases
from tests.validate.live import LOAD_TIMEOUT_S, judge
from tools.validate.configurations import check_models, read_repository
from tools.validate.findings import Finding, Severity
from tools.validate.target import Target

CASES = cases()
PATIENCE_S = 5.0
SERVERS = 8  # most of a load is waiting for a stub to start and stop


def errors(case: Case, folder: Path) -> list[Finding]:
    case.write(folder)
    models, findings = read_repository(folder, Target("cpu"))
    found = [*findings, *check_models(models)]
    return [finding for finding in found if finding.rule.severity is Severity.ERROR]


def test_there_are_enough_of_both_kinds(tmp_path: Path) -> None:
    wrong = [case for case in CASES if errors(case, tmp_path / case.name)]
    assert len(CASES) >= 300
    assert 100 <= len(wrong) <= len(CASES) - 100
    families = {error.rule.code[0] for c in wrong for error in errors(c, tmp_path / f"{c.name}2")}
    assert families == {"S", "C", "R", "E"}


def chosen(folder: Path, every: bool) -> list[Case]:
    """All that the validator faults; of those that it passes, which take long to load, a third."""
    answering = [case for case in CASES if not case.hangs]
    passed = [case for case in answering if not errors(case, folder / case.name)]
    left_out = set() if every else set(passed) - set(passed[::3])
    return [case for case in answering if case not in left_out]


def judged(todo: list[Case], folder: Path) -> dict[str, str]:
    """Why one server after the other refuses each case; empty where it loads.

    The wheel's server itself sometimes hangs while a stub starts or ends, so a case whose server
    does not answer is asked once more of a fresh one, with more patience.
    """
    verdicts: dict[str, str] = {}
    waiting = [*todo]
    for server in range(len(todo)):
        with judge(folder / str(server)) as running:
            while waiting:
                case = waiting.pop(0)
                case.write(running.repository)
                patience_s = LOAD_TIMEOUT_S if case.name in verdicts else LOAD_TIMEOUT_S / 3
                try:
                    verdicts[case.name] = running.refuses(case.name, patience_s)
                except (OSError, http.client.HTTPException) as error:
                    if case.name not in verdicts:
                        waiting.append(case)
                    verdicts[case.name] = f"does not answer: {error!r}"
                    break
        if not waiting:
            break
    return verdicts


@pytest.mark.server
def test_what_the_server_refuses_is_an_error_and_nothing_else_is(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    todo = chosen(tmp_path / "chosen", bool(pytestconfig.getoption("--every-case")))
    assert len(todo) >= 300
    with ThreadPoolExecutor(SERVERS) as pool:
        parts = [todo[n::SERVERS] for n in range(SERVERS)]
        folders = [tmp_path / f"judges{n}" for n in range(SERVERS)]
        verdicts = {n: v for part in pool.map(judged, parts, folders) for n, v in part.items()}
    assert len(verdicts) == len(todo)
    disagreements = [
        f"{case.name}: the server {refused or 'loads it'}; validate: {found or 'no error'}"
        for case in todo
        if bool(refused := verdicts[case.name]) != bool(found := errors(case, tmp_path / case.name))
    ]
    assert disagreements == []


@pytest.mark.parametrize("case", [c for c in CASES if c.hangs], ids=lambda case: case.name)
def test_what_hangs_or_ends_the_server_is_an_error(case: Case, tmp_path: Path) -> None:
    assert errors(case, tmp_path)


@pytest.mark.server
@pytest.mark.parametrize("name", ["agents0", "r_vbig", "r_vemptydir"])
def test_they_really_hang_or_end_the_server(name: str, tmp_path: Path) -> None:
    with judge(tmp_path / "judge") as running:
        next(case for case in CASES if case.name == name).write(running.repository)
        with pytest.raises((OSError, http.client.HTTPException)):
            running.refuses(name, patience_s=PATIENCE_S)

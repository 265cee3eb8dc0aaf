"""Requests that fail."""

from __future__ import annotations

from tools.doctor.stage import Stage
from tools.validate.findings import Finding
from tools.validate.rules import live

MIN_FAILURES = 3
MIN_SHARE = 0.01
DEAD = "is not healthy"
"""In the answer of a Python model whose process is gone. Source: python_backend, python_be.cc."""


def not_ready(stage: Stage) -> Finding | None:
    """Sure when the model says so."""
    if stage.ready is not False:
        return None
    return live.NOT_READY.at(stage.place, f"{stage.model.path}/ready does not answer 200")


def dead_stub(stage: Stage) -> Finding | None:
    """Sure when an answer says so, or all fail in the backend before any execution is counted.

    A model whose code raises counts executions, and what the server refuses is not the backend's.
    """
    answers = stage.probe.errors if stage.probe else ()
    told = [error for error in answers if DEAD in error]
    if stage.config.is_ensemble or not (told or _fails_unexecuted(stage)):
        return None
    evidence = f"{stage.seen.failures} requests failed, 0 succeeded, 0 executions"
    if told:
        evidence = f"the probe was answered: {told[0]}"
    return live.DEAD_STUB.at(stage.place, evidence)


def _fails_unexecuted(stage: Stage) -> bool:
    return _all_in_python(stage) and _all_fail(stage) and stage.seen.executions == 0


def _all_in_python(stage: Stage) -> bool:
    return stage.config.backend == "python" and set(stage.reasons or ()) == {"BACKEND"}


def _all_fail(stage: Stage) -> bool:
    return stage.seen.requests == 0 and stage.seen.failures >= MIN_FAILURES


def every_request_fails(stage: Stage) -> Finding | None:
    """Sure when several failed, none succeeded, and the process is not known to be dead."""
    if stage.config.is_ensemble or not _all_fail(stage) or dead_stub(stage) is not None:
        return None
    return live.EVERY_REQUEST_FAILS.at(stage.place, describe(stage))


def some_requests_fail(stage: Stage) -> Finding | None:
    """Sure when at least one in a hundred failed, and some succeeded.

    Fewer count where a process may be dead: it takes a second for each failure, so that the others
    serve a hundred requests meanwhile.
    """
    failures = stage.seen.failures
    few = failures < max(1, MIN_SHARE * (failures + stage.seen.requests))
    few = few and not (_all_in_python(stage) and failures >= MIN_FAILURES)
    if stage.config.is_ensemble or not stage.seen.requests or few:
        return None
    return live.SOME_REQUESTS_FAIL.at(stage.place, describe(stage) + _of_a_stub(stage))


def _of_a_stub(stage: Stage) -> str:
    """What a dead process of several looks like; code that raises looks just so."""
    if not _all_in_python(stage) or dead_stub(stage) is not None:
        return ""
    count = stage.config.instances or 1
    which = "the Python process" if count == 1 else f"one of the {count} Python processes"
    return (
        f"; {which} may be dead, or the model's code raises: --probe {min(64, 8 * count)} "
        "tells, best while no other traffic runs"
    )


def describe(stage: Stage) -> str:
    """Failures against successes, and their reasons where those are known."""
    text = f"{stage.seen.failures} requests failed, {stage.seen.requests} succeeded"
    if stage.reasons is None:
        return f"{text}; the reasons are in the metrics, which are not to be had"
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(stage.reasons.items()))
    expired = " (a queue timeout ran out)" if "REJECTED" in stage.reasons else ""
    return f"{text}; by reason: {reasons}{expired}" if reasons else text

"""What was found, for people at 80 columns and for machines."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from tools.doctor.causes import Diagnosis
from tools.doctor.stage import Stage, Watched
from tools.validate.findings import Finding, Severity
from tools.validate.rules import live

WIDTH = 80
BAR = 40
MAX_ROWS = 12
"""Batch sizes shown; the rarest are dropped."""


def is_clean(diagnoses: Sequence[Diagnosis]) -> bool:
    """Whether nothing worse than a note was found."""
    return not any(
        finding.rule.severity is not Severity.NOTE for _, found in diagnoses for finding in found
    )


def as_text(server: Watched, diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    """Lines: the server, a block for each model with traffic or trouble, and the verdict."""
    yield from _head(server)
    quiet = [stage for stage, found in diagnoses if _is_quiet(stage, found)]
    for stage, found in diagnoses:
        if stage not in quiet:
            yield ""
            yield from _block(stage, found)
    if quiet:
        yield ""
        names = ", ".join(stage.model.name for stage in quiet)
        yield from _wrapped(f"No traffic, so nothing is said of: {names}", "")
    yield ""
    yield from _wrapped(_verdict(diagnoses), "")


def _is_quiet(stage: Stage, found: Sequence[Finding]) -> bool:
    idle = stage.seen.requests + stage.seen.failures == 0 and stage.probe is None
    return idle and all(finding.rule.code in ("D001", "D002") for finding in found)


def _head(server: Watched) -> Iterator[str]:
    yield f"{server.url}, Triton {server.version}, watched for {server.window_s:.1f} s"
    if server.foreign_metrics_url is not None:
        yield f"The metrics at {server.foreign_metrics_url} count other requests"
        yield "than this server does, so they are not used; name its own with --metrics-url."
    elif server.metrics_url is None:
        yield "No metrics: requests waiting and reasons of failures are not known."
    if server.interrupted:
        yield "Interrupted: this is what was seen so far."
    if server.missed:
        yield f"{server.missed} samples were not answered in time."


def _block(stage: Stage, found: Sequence[Finding]) -> Iterator[str]:
    yield f"{stage.model.name} (version {stage.model.version}): {_settings(stage)}"
    if stage.seen.requests or stage.seen.failures:
        yield from _figures(stage)
    yield from _probed(stage)
    for finding in found:
        yield f"  {finding.rule.code} {finding.rule.severity.value}: {finding.rule.name}"
        yield from _wrapped(finding.rule.cause, "    ")
        yield from _wrapped(f"Seen: {finding.message}.", "    ")
        yield from _wrapped(f"Next: {finding.rule.mend}", "    ")
    if not found:
        yield "  nothing found"


def _settings(stage: Stage) -> str:
    config = stage.config
    if config.is_ensemble:
        return f"ensemble of {len(config.steps)} steps"
    parts = [config.backend or "unknown backend"]
    if config.instances:
        parts.append(f"{config.instances} instance{'s' if config.instances > 1 else ''}")
    parts.append(f"max batch {config.max_batch_size}")
    if config.batching is None:
        parts.append("no dynamic batching")
    else:
        parts.append(f"delay {1e3 * config.delay_s:g} ms")
    return ", ".join(parts)


def _figures(stage: Stage) -> Iterator[str]:
    seen = stage.seen
    failed = f", {seen.failures} failed" if seen.failures else ""
    yield (
        f"  {seen.requests} requests{failed}, {seen.requests / stage.window_s:.1f}/s; "
        f"{seen.inferences} inferences, {stage.in_flight:.1f} in flight"
    )
    if not stage.config.is_ensemble:
        busy = "" if stage.utilisation is None else f"; instances busy {stage.utilisation:.0%}"
        yield f"  {seen.executions} executions, mean batch {stage.mean_batch:.2f}{busy}"
        yield from _histogram(stage)
    if seen.requests:
        yield from _wrapped(_split(stage), "  ")


def _split(stage: Stage) -> str:
    """Where the time of a request goes."""
    seen, whole_s = stage.seen, max(stage.latency_s, 1e-9)
    parts = {
        "queue": seen.queue_s,
        "input": seen.compute_input_s,
        "infer": seen.compute_infer_s,
        "output": seen.compute_output_s,
    }
    split = ", ".join(
        f"{name} {1e3 * stage.per_request_s(total_s):.1f} "
        f"({stage.per_request_s(total_s) / whole_s:.0%})"
        for name, total_s in parts.items()
    )
    return f"{1e3 * whole_s:.1f} ms a request: {split}"


def _histogram(stage: Stage) -> Iterator[str]:
    """Executions by batch size, as bars."""
    sizes = stage.seen.sizes or {}
    if not sizes:
        return
    most = max(one.executions for one in sizes.values())
    kept = sorted(sizes, key=lambda size: -sizes[size].executions)[:MAX_ROWS]
    for size in sorted(kept):
        count = sizes[size].executions
        bar = "█" * max(1, round(BAR * count / most))
        yield f"  {size:>6} {bar:<{BAR}} {count}"
    if len(kept) < len(sizes):
        yield f"         and {len(sizes) - len(kept)} rarer batch sizes"


def _probed(stage: Stage) -> Iterator[str]:
    if stage.probe is None:
        return
    probe = stage.probe
    alone = "failed" if probe.alone_ms is None else f"{probe.alone_ms:.1f} ms"
    together = "failed" if probe.together_ms is None else f"{probe.together_ms:.1f} ms each"
    made = "" if probe.executions is None else f", {probe.executions} executions, others' included"
    yield f"  probe: one alone {alone}; {probe.requests} at once {together}{made}"
    for error in dict.fromkeys(probe.errors):
        yield from _wrapped(f"answered {probe.errors.count(error)} times: {error}", "    ")


def _verdict(diagnoses: Sequence[Diagnosis]) -> str:
    codes = {finding.rule.code for _, found in diagnoses for finding in found}
    counts = {
        severity: sum(f.rule.severity is severity for _, found in diagnoses for f in found)
        for severity in Severity
    }
    if "D001" in codes or not diagnoses:
        none = "Verdict: none. No traffic was seen, so this is not a clean bill."
        return f"{none} {live.NO_TRAFFIC.mend}"
    if is_clean(diagnoses):
        notes = "".join(f" ({text})" for text in _counted(counts))
        off = [stage.model.name for stage, found in diagnoses if _is_off(found)]
        if off:
            return f"Verdict: little is lost at this load, but {', '.join(off)} can't batch{notes}."
        return f"Verdict: nothing found that keeps this server from batching{notes}."
    return "Verdict: " + ", ".join(_counted(counts)) + "."


def _is_off(found: Sequence[Finding]) -> bool:
    return any(finding.rule is live.EACH_RUNS_ALONE for finding in found)


def _counted(counts: dict[Severity, int]) -> Iterator[str]:
    for severity, number in counts.items():
        if number:
            yield f"{number} {severity.value}{'' if number == 1 else 's'}"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  " * bool(indent)
    )


def as_json(server: Watched, diagnoses: Sequence[Diagnosis]) -> str:
    """The same facts; what is not known is null."""
    return json.dumps(
        {
            "url": server.url,
            "triton": server.version,
            "window_s": server.window_s,
            "metrics_url": server.metrics_url,
            "foreign_metrics_url": server.foreign_metrics_url,
            "interrupted": server.interrupted,
            "missed_samples": server.missed,
            "clean": is_clean(diagnoses),
            "models": [_fields(stage, found) for stage, found in diagnoses],
        },
        indent=2,
    )


def _fields(stage: Stage, found: Sequence[Finding]) -> dict[str, Any]:
    seen, any_request = stage.seen, stage.seen.requests > 0
    sizes = seen.sizes
    pending = [moment.pending for moment in stage.moments if moment.pending is not None]
    return {
        "model": stage.model.name,
        "version": stage.model.version,
        "ready": stage.ready,
        "window_s": stage.window_s,
        "reloaded": stage.reloaded,
        "max_batch_size": stage.config.max_batch_size,
        "instances": stage.config.instances,
        "requests": seen.requests,
        "failures": seen.failures,
        "failure_reasons": stage.reasons,
        "inferences": seen.inferences,
        "executions": seen.executions,
        "cache_hits": seen.cache_hits,
        "mean_batch": stage.mean_batch if seen.executions else None,
        "batch_sizes": None if sizes is None else {k: v.executions for k, v in sizes.items()},
        "in_flight": stage.in_flight,
        "pending_mean": sum(pending) / len(pending) if pending else None,
        "pending_max": max(pending, default=None),
        "utilisation": stage.utilisation,
        "request_ms": 1e3 * stage.latency_s if any_request else None,
        "queue_ms": 1e3 * stage.queue_s if any_request else None,
        "compute_input_ms": _each_ms(stage, seen.compute_input_s),
        "compute_infer_ms": _each_ms(stage, seen.compute_infer_s),
        "compute_output_ms": _each_ms(stage, seen.compute_output_s),
        "execution_ms": None if stage.execution_s is None else 1e3 * stage.execution_s,
        "probe": None if stage.probe is None else vars(stage.probe),
        "findings": [
            {
                "code": finding.rule.code,
                "name": finding.rule.name,
                "severity": finding.rule.severity.value,
                "cause": finding.rule.cause,
                "evidence": finding.message,
                "next_step": finding.rule.mend,
            }
            for finding in found
        ],
    }


def _each_ms(stage: Stage, total_s: float) -> float | None:
    return 1e3 * stage.per_request_s(total_s) if stage.seen.requests else None

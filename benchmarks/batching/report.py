"""Lines for a reader, from records alone: of several, repetitions are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.batching.measure import Json, change_pct
from benchmarks.batching.rows import VALUES


def report(records: list[Json]) -> Iterator[str]:
    """What was found, one line a comparison."""
    for name in records[0]["experiments"]:
        found = [record["experiments"][name] for record in records if name in record["experiments"]]
        yield f"{name}:"
        yield from _LINES[name](found)


def _compared(found: list[Json]) -> Iterator[str]:
    for change in found[0]["compared"]:
        load, variant, against = (change[key] for key in ("load", "variant", "against"))
        words = []
        for value in VALUES:
            if value in change:
                of, base = _summaries(found, load, variant), _summaries(found, load, against)
                one = change_pct(of, base, VALUES[value])
                interval = f"[{one['min_pct']:+.1f} to {one['max_pct']:+.1f}]"
                words.append(f"{value} {one['mean_pct']:+.1f} % {interval}")
        yield f"  {load:7s} {variant} against {against}: " + ", ".join(words)


def _summaries(found: list[Json], load: str, variant: str) -> list[Json]:
    rows = [row for one in found for row in one["rows"]]
    wanted = [row for row in rows if (row["load"], row["variant"]) == (load, variant)]
    return [summary for row in wanted for summary in row["repetitions"]]


def _nested(found: list[Json]) -> Iterator[str]:
    for what in found[0]:
        parts = [one[what] for one in found]
        yield f" {what}"
        yield from _compared(parts)
        for row in parts[0]["rows"]:
            summaries = _summaries(parts, row["load"], row["variant"])
            rates = ", ".join(f"{summary['throughput_per_s']:.0f}" for summary in summaries)
            yield f"  {row['load']:7s} {row['variant']}: {rates} images/s"


def _overload(found: list[Json]) -> Iterator[str]:
    yield f"  at most {found[0]['most_in_time_share']:.1%} can be in time"
    for row in found[0]["rows"]:
        summaries = _summaries(found, row["load"], row["variant"])
        shares = ", ".join(f"{summary['in_time_share']:.1%}" for summary in summaries)
        silences = sum(summary["silences"] for summary in summaries)
        yield f"  {row['variant']}: in time {shares}; silences of 450 ms and more: {silences}"


def _classes(found: list[Json]) -> Iterator[str]:
    for variant, classes in found[0].items():
        for kind in ("urgent", "normal"):
            parts = [one[variant][kind] for one in found]
            p50, p95 = (", ".join(str(p[q]) for p in parts) for q in ("p50_ms", "p95_ms"))
            late, requests = (sum(p[key] for p in parts) for key in ("over_500_ms", "requests"))
            yield f"  {variant}: {kind} p50 {p50}, p95 {p95} ms; over 500 ms {late} of {requests}"
        for stage in classes.get("batches_before_urgent", {}):
            counts = [n for one in found for n in one[variant]["batches_before_urgent"][stage]]
            yield f"    {stage}: next batch {counts.count(0)} of {len(counts)}, most {max(counts)}"


def _lost_and_late(found: list[Json]) -> Iterator[str]:
    for variant in found[0]["pairs"]:
        parts = [one["pairs"][variant] for one in found]
        counts = ", ".join(f"{part['stalled']} of {part['pairs']}" for part in parts)
        yield f"  {variant}: stalled pairs {counts}"
    refused = [ms for one in found for ms in one["refused_after_ms"]]
    timeout_ms = found[0]["timeout_ms"]
    yield f"  timeout {timeout_ms:g} ms, refused after {min(refused)} to {max(refused)} ms"


_LINES: dict[str, Callable[[list[Json]], Iterator[str]]] = {
    "independent_callers": _compared,
    "resending_clients": _nested,
    "saturation": _nested,
    "overload": _overload,
    "bursts": _classes,
    "mix": _classes,
    "lost_and_late": _lost_and_late,
}

"""What was found of a recording, for people at 80 columns and for machines."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tools.arrivals.advice import advice
from tools.arrivals.analysis import Analysis
from tools.arrivals.dispersion import Scale

WIDTH = 80
BAR = 40
_SIGNS = {"uniform": "evenly spaced", "poisson-like": "Poisson-like", "bursty": "bursty"}


def as_text(analysis: Analysis, remarks: tuple[str, ...]) -> Iterator[str]:
    """Lines: the recording, the verdict with its evidence, gaps, counts, and what it means."""
    yield from _head(analysis)
    for remark in remarks:
        yield from _wrapped(remark, "  ")
    yield ""
    yield from _wrapped(verdict(analysis), "")
    yield from _wrapped(evidence(analysis), "  ")
    yield from _wrapped(_drift(analysis), "  ")
    yield from _gaps(analysis)
    yield from _counts(analysis)
    yield ""
    yield "What it means for batching"
    for text in advice(analysis):
        yield from _wrapped(text, "  ")


def _head(analysis: Analysis) -> Iterator[str]:
    arrivals = analysis.arrivals
    yield from _wrapped(arrivals.source, "")
    yield (
        f"{len(arrivals.times_s)} arrivals in {_time(arrivals.duration_s)}, "
        f"{arrivals.rate_per_s:.4g}/s; clock in steps of {_time(arrivals.resolution_s)}"
    )


def verdict(analysis: Analysis) -> str:
    """The kind, in a sentence."""
    kind, group = analysis.verdict.kind, analysis.group
    if group is None and kind == "too-few":
        return "Too few to tell: neither uniform, nor Poisson-like, nor bursty is shown."
    if group is None:
        return f"The arrivals are {_SIGNS[kind]}, on time scales of {_range(analysis)}."
    what = "too few to tell how these come" if kind == "too-few" else f"these are {_SIGNS[kind]}"
    on = "" if kind == "too-few" else f", on time scales of {_range(analysis)}"
    size = f"mostly of {group.usual_size}" if group.is_steady else "of different sizes"
    return f"The arrivals come in groups, {size}; {what}{on}."


def _range(analysis: Analysis) -> str:
    judged = analysis.verdict.judged
    return f"{_time(judged[0].window_s)} to {_time(judged[-1].window_s)}"


def evidence(analysis: Analysis) -> str:
    """The figures behind the verdict."""
    parts = []
    group, shown, size = analysis.group, analysis.verdict.shown_by, analysis.verdict.group_size
    if group is not None:
        parts.append(
            f"within {_time(group.within_s)} of others, an arrival is in a group of "
            f"{group.mean_size:.1f} on average, {group.usual_share:.0%} are in groups of "
            f"{group.usual_size}"
        )
    if shown is not None:
        parts.append(_shown(shown, size, analysis.verdict.kind == "bursty"))
    if analysis.gaps is not None and group is None:
        parts.append(
            f"the coefficient of variation of the gaps is {analysis.gaps.variation:.2f}, "
            "Poisson's 1, even spacing's 0"
        )
    parts.extend(_burst_parts(analysis))
    text = "; ".join(parts) or "no time scale has enough windows with enough arrivals in them"
    return f"Seen: {text}."


def _shown(shown: Scale, size: float, is_bursty: bool) -> str:
    of = "" if size == 1 else "of groups "
    counts = f"counts {of}in windows of {_time(shown.window_s)} vary from one to the next"
    if is_bursty:
        return (
            f"{counts} {shown.recurring / size:.2f} times as much as Poisson's do, in two quarters "
            f"of the {shown.windows} windows at least; chance gives up to "
            f"{shown.chance_recurring(size) / size:.2f}"
        )
    low, high = (bound / size for bound in shown.chance(size))
    return (
        f"{counts} {shown.local / size:.2f} times as much as Poisson's do; chance alone gives "
        f"{low:.2f} to {high:.2f} in {shown.windows} windows"
    )


def _burst_parts(analysis: Analysis) -> Iterator[str]:
    bursts, rate_per_s = analysis.bursts, analysis.arrivals.rate_per_s
    if bursts is not None:
        yield (
            f"{bursts.count} bursts hold {bursts.share:.0%} of the arrivals, the median one "
            f"{_time(bursts.length_s)} at {bursts.rate_per_s:.4g}/s, "
            f"{bursts.rate_per_s / rate_per_s:.1f} times the mean; the longest "
            f"{_time(bursts.longest_s)}"
        )


def _drift(analysis: Analysis) -> str:
    drift = analysis.drift
    if drift is None:
        return "Slow change of the rate: not to be told from the rest in this recording."
    rates = drift.rates_per_s
    tenths = f"tenths of the recording have {min(rates):.4g} to {max(rates):.4g}/s"
    if drift.is_real:
        return f"The rate also changes slowly, apart from that: {tenths}."
    return f"No slow change of the rate beyond that: {tenths}."


def _gaps(analysis: Analysis) -> Iterator[str]:
    gaps = analysis.gaps
    yield ""
    if gaps is None:
        yield "Gaps between arrivals: most are shorter than a step of the clock"
        return
    yield (
        f"Gaps between arrivals: mean {_time(gaps.mean_s)}, coefficient of variation "
        f"{gaps.variation:.2f}"
    )
    yield f"  {'below':>8} {'share':>6} Poisson"
    most = max(gaps.shares)
    for edge_s, share, poisson in zip(
        (*map(_time, gaps.edges_s), "more"), gaps.shares, gaps.poisson, strict=True
    ):
        bar = "█" * round(BAR * share / most)
        yield f"  {edge_s:>8} {share:>6.1%} {poisson:>6.1%} {bar}".rstrip()


def _counts(analysis: Analysis) -> Iterator[str]:
    judged, together = analysis.verdict.judged, analysis.verdict.together
    rows = judged if together is None or together in judged else (together, *judged)
    if not rows:
        return
    size = analysis.verdict.group_size
    of = "" if together is None else f" of groups of {size:.1f}"
    yield ""
    yield f"Counts in windows (chance: the local dispersion of Poisson arrivals{of})"
    yield "  window  windows      mean  dispersion     local      chance  peak/mean"
    for one in rows:
        low, high = one.chance(size)
        yield (
            f"{_time(one.window_s):>8} {one.windows:>8} {one.mean:>9.4g} {one.dispersion:>11.4g} "
            f"{one.local:>9.4g} {f'{low:.2f}-{high:.2f}':>11} {one.peak_to_mean:>10.3g}"
        )


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  " * bool(indent)
    )


def as_json(analysis: Analysis, remarks: tuple[str, ...]) -> str:
    """The same facts; what is not known is null."""
    arrivals, shown = analysis.arrivals, analysis.verdict.shown_by
    parts = {name: getattr(analysis, name) for name in ("gaps", "group", "bursts", "drift")}
    return json.dumps(
        {
            "source": arrivals.source,
            "remarks": remarks,
            "arrivals": len(arrivals.times_s),
            "duration_s": arrivals.duration_s,
            "rate_per_s": arrivals.rate_per_s,
            "resolution_s": arrivals.resolution_s,
            "kind": "grouped" if analysis.group else analysis.verdict.kind,
            "kind_of_groups": analysis.verdict.kind if analysis.group else None,
            "verdict": verdict(analysis),
            "evidence": evidence(analysis),
            "shown_by": None if shown is None else _scale(shown, analysis.verdict.group_size),
            "judged_s": [one.window_s for one in analysis.verdict.judged],
            **{name: None if part is None else asdict(part) for name, part in parts.items()},
            "scales": [_scale(one) for one in analysis.scales],
            "advice": list(advice(analysis)),
        },
        indent=2,
    )


def _scale(scale: Scale, size: float = 1.0) -> dict[str, Any]:
    return {**asdict(scale), "chance": scale.chance(size)}

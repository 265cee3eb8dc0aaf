"""What the kind of arrivals means for queue delay and preferred sizes: where to start, not a law.

Source: docs/arrivals.md, which says how it is known; ``bench`` with the arrivals file tests it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.arrivals.analysis import Analysis

_MEANS = {
    "uniform": (
        "Evenly spaced requests do not meet while an instance is free, and what comes while it is "
        "busy is the next batch: start with max_queue_delay_microseconds 0 and no preferred "
        "sizes. Before capacity is reached, a delay mostly adds to the latency.",
    ),
    "poisson-like": (
        "Independent requests. With one instance start with max_queue_delay_microseconds 0 and no "
        "preferred sizes: what comes while it is busy is the next batch, and waiting while it is "
        "idle costs more than it brings. With instances on devices of their own, a delay of about "
        "a third of one execution can pay: measure it.",
    ),
    "bursty": (
        "Requests of a burst queue, and batch without any delay: start with "
        "max_queue_delay_microseconds 0 and no preferred sizes. Bursts want room: a "
        "max_batch_size and capacity for the rate inside them, or a queue timeout for what is "
        "too much. The SLO holds only at a lower mean rate than with Poisson arrivals.",
    ),
    "too-few": (
        "Nothing follows from so few. Record 100 requests at least, and twenty times as long as "
        "the longest burst that matters.",
    ),
}
_GROUPS = (
    "Requests come together: an idle instance starts with the first, and the others wait for it. "
    "A delay of about the time within which they come ({within_ms:g} ms or less) lets them be one "
    "batch, most so when groups come evenly. {sizes} In an ensemble set it on all stages or on "
    "none, and measure both."
)
_STEADY = "preferred_batch_size [{size}] lets a whole group go at once."
_UNSTEADY = "No preferred_batch_size fits groups of different sizes."
_LOOP = (
    "If clients wait for an answer before they send again, these arrivals follow the server's "
    "speed and change with it; tandem doctor sees such clients."
)


def advice(analysis: Analysis) -> Iterator[str]:
    """One text a point."""
    group, kind = analysis.group, analysis.verdict.kind
    if group is not None:
        sizes = _STEADY.format(size=group.usual_size) if group.is_steady else _UNSTEADY
        yield _GROUPS.format(within_ms=1e3 * group.within_s, sizes=sizes)
    if group is None or kind == "bursty":
        yield from _MEANS[kind]
    if kind != "too-few" or group is not None:
        yield _LOOP

"""Named batching settings. Each value stands here once, with its reason, source and cost.

A profile is applied to ``preprocess``, ``classifier`` and ``postprocess`` alike unless a setting
names its stages. The ensemble itself has no queue, so it has nothing to set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STAGES = ("preprocess", "classifier", "postprocess")
DEFAULT = "interactive"
URGENT, NORMAL = 1, 2
"""Priority levels of the ``priority`` profile, as a request's ``priority`` parameter."""


@dataclass(frozen=True)
class Setting:
    """One value of ``dynamic_batching``.

    Attributes:
        field: its path in the proto, dotted.
        value: what it is set to, in the proto's unit.
        reason: why this value.
        source: where that was measured or read.
        cost: what a user pays for it.
        stages: the stages that get it.
    """

    field: str
    value: Any
    reason: str
    source: str
    cost: str
    stages: tuple[str, ...] = STAGES


@dataclass(frozen=True)
class Profile:
    """Settings for one kind of traffic.

    Attributes:
        name: what ``--profile`` and ``--model-config-name`` take.
        audience: whom it is for, one sentence.
        settings: what differs from Triton's default batcher.
        batches: False leaves ``dynamic_batching`` out altogether.
    """

    name: str
    audience: str
    settings: tuple[Setting, ...] = ()
    batches: bool = True

    def dynamic_batching(self, stage: str) -> dict[str, Any] | None:
        """The fields of ``dynamic_batching`` for one stage; None for no batching at all."""
        if not self.batches:
            return None
        fields: dict[str, Any] = {}
        for setting in self.settings:
            if stage in setting.stages:
                *outer, leaf = setting.field.split(".")
                inner = fields
                for name in outer:
                    inner = inner.setdefault(name, {})
                inner[leaf] = setting.value
        return fields


_RECIPE = "the field's usual starting value, kept exact so that you can compare"
_LATE = "late mode: higher p95 at every load, and lost wake-ups that stall a quiet server 500 ms"
_FIRST_TWO = ("preprocess", "classifier")

ON_A_CPU = Setting(
    "preferred_batch_size",
    [4],
    "with no delay, four go as soon as four wait: larger batches save no time a CPU's image takes "
    "and leave the other stages' cores idle meanwhile",
    "docs/performance.md",
    "nothing known",
    _FIRST_TWO,
)
"""For the ``cpu`` target, where a profile does not set the sizes itself."""
FUSED = Setting(
    "preferred_batch_size",
    [2],
    "with no delay, two go as soon as two wait: more save nothing, and nobody waits for more",
    "docs/decisions.md",
    "nothing known",
    ("ensemble",),
)
"""The same where one model is all stages."""

_PROFILES = (
    Profile(
        "interactive",
        "Independent callers who wait for an answer: the default.",
    ),
    Profile(
        "baseline",
        "Nobody in production: the side that batching is compared with.",
        batches=False,
    ),
    Profile(
        "recipe-interactive",
        "Users who come with the usual recipe for low latency.",
        (
            Setting(
                "preferred_batch_size",
                [2, 4, 8],
                _RECIPE,
                "Triton's guides",
                "batches are formed before they are needed, and smaller",
            ),
            Setting(
                "max_queue_delay_microseconds",
                1_000,
                _RECIPE,
                "Triton's guides",
                "each stage waits while it is idle: p95 13 to 26% higher (docs/profiles.md)",
            ),
        ),
    ),
    Profile(
        "recipe-bulk",
        "Users who come with the usual recipe for throughput.",
        (
            Setting(
                "preferred_batch_size",
                [16, 32, 64],
                _RECIPE,
                "Triton's guides",
                "fewer than 16 in flight wait the whole delay",
            ),
            Setting(
                "max_queue_delay_microseconds",
                10_000,
                _RECIPE,
                "Triton's guides",
                "three stages wait up to 10 ms each",
            ),
        ),
    ),
    Profile(
        "bulk",
        "Work with a loose SLO on a device that others use too: fewer executions an image.",
        (
            Setting(
                "preferred_batch_size",
                [16, 32, 64],
                "sixteen go at once; the larger sizes let deep queues keep large batches",
                "docs/profiles.md",
                "fewer than 16 in flight wait the whole delay",
                ("classifier",),
            ),
            Setting(
                "max_queue_delay_microseconds",
                10_000,
                "gathers images while they come slowly; on the one stage whose device time counts",
                "docs/profiles.md",
                "up to 10 ms on every request; no more images/s from clients that resend",
                ("classifier",),
            ),
        ),
    ),
    Profile(
        "overload",
        "Interactive traffic that at times is more than the machine can serve.",
        (
            Setting(
                "default_queue_policy.timeout_action",
                "REJECT",
                "an answer that is too late helps nobody; not at the last stage, where all is done",
                "docs/profiles.md",
                "refused callers get UNAVAILABLE",
                _FIRST_TWO,
            ),
            Setting(
                "default_queue_policy.default_timeout_microseconds",
                60_000,
                "0.6 of an SLO of 100 ms; set your own",
                "docs/profiles.md",
                _LATE,
                _FIRST_TWO,
            ),
            Setting(
                "default_queue_policy.allow_timeout_override",
                True,
                "a caller with less time left may say so; longer is not accepted",
                "core/src/scheduler_utils.cc",
                "none beyond the timeout's own",
                _FIRST_TWO,
            ),
        ),
    ),
    Profile(
        "priority",
        "Two classes of callers on one server: urgent (1) overtakes normal (2).",
        (
            Setting(
                "priority_levels",
                2,
                "urgent and normal; at every stage, or the first in line undoes it",
                "docs/profiles.md",
                _LATE + "; normal requests can starve",
            ),
            Setting(
                "default_priority_level",
                NORMAL,
                "who does not ask is normal",
                "model_config.proto",
                "none",
            ),
        ),
    ),
)

PROFILES = {profile.name: profile for profile in _PROFILES}

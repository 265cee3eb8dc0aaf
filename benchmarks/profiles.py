"""Check on a real Triton what each profile claims: ``python -m benchmarks.profiles [--quick]``.

The models sleep and compute nothing, so this measures Triton's batcher and no GPU. One JSON
record is written; the comparisons go to stdout, the progress to stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks.batching.experiments import (
    independent_callers,
    overload,
    resending_clients,
    saturation,
)
from benchmarks.batching.measure import ATTEMPTS, LATE_MS, Json
from benchmarks.batching.plan import QUICK, Plan, note
from benchmarks.batching.priorities import bursts, mix
from benchmarks.batching.report import report
from benchmarks.batching.server import Triton, running
from benchmarks.batching.sleepers import CPU_LIKE, PREPROCESS_BOUND, STRETCH, TANDEM
from benchmarks.batching.variants import ON_ONE_SERVER
from benchmarks.batching.wakeups import lost_and_late
from ensemble.errors import ServingError
from ensemble.profiles import PROFILES, STAGES
from tools.export import ROOT
from tools.record.origin import origin

RECORDS = ROOT / "benchmarks" / "records"
EXPERIMENTS: dict[str, Callable[[Triton, Plan], Json]] = {
    "independent_callers": independent_callers,
    "resending_clients": resending_clients,
    "saturation": saturation,
    "overload": overload,
    "mix": mix,
    "lost_and_late": lost_and_late,
}
NAMES = [*EXPERIMENTS, "bursts"]


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the record, print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test; its figures are noise")
    parser.add_argument("--only", choices=NAMES, action="append", help="may be repeated")
    parser.add_argument("--out", type=Path, help="the record; default: benchmarks/records/")
    parser.add_argument(
        "--report", type=Path, nargs="+", help="measure nothing: read these records together"
    )
    parser.add_argument("--json", action="store_true", help="print the record itself")
    options = parser.parse_args(arguments)
    if options.report:
        records = [json.loads(path.read_text(encoding="utf-8")) for path in options.report]
        print("\n".join(report(records)))
        return 0
    started_s = time.monotonic()
    plan = QUICK if options.quick else Plan()
    try:
        record = _record(plan, options.only or NAMES)
    except ServingError as error:
        print(error, file=sys.stderr)
        return 3
    record["wall_s"] = round(time.monotonic() - started_s, 1)
    out = options.out or RECORDS / f"profiles-{time.strftime('%Y-%m-%d')}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(compact(record), encoding="utf-8")
    note(f"record: {out} ({out.stat().st_size >> 10} kB, {record['wall_s']} s)")
    print(compact(record) if options.json else "\n".join(report([record])))
    return 0


def _record(plan: Plan, names: list[str]) -> Json:
    found = {}
    with running([*ON_ONE_SERVER.values()]) as triton:
        server = triton.version()
        for name in EXPERIMENTS:
            if name in names:
                found[name] = EXPERIMENTS[name](triton, plan)
    if "bursts" in names:
        found["bursts"] = bursts(plan)
    return {
        "what": "sleeping models on a real Triton; no GPU, no image",
        "date": time.strftime("%Y-%m-%d"),
        "tritonserver": server,
        **origin(),
        "plan": asdict(plan),
        "config": {
            "stretch": STRETCH,
            "costs": {s: asdict(c) for s, c in TANDEM.items()},
            "cpu_like": asdict(CPU_LIKE["classifier"]),
            "preprocess_bound": asdict(PREPROCESS_BOUND["preprocess"]),
            "client_late_p99_limit_ms": LATE_MS,
            "attempts": ATTEMPTS,
            "profiles": {
                n: {s: p.dynamic_batching(s) for s in STAGES} for n, p in PROFILES.items()
            },
        },
        "experiments": found,
    }


def compact(record: Json) -> str:
    """JSON with one experiment's row a line, so that a difference can be read."""
    return json.dumps(record, separators=(",", ":")).replace('{"variant"', '\n{"variant"') + "\n"


if __name__ == "__main__":
    sys.exit(main())

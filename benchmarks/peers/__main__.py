"""``make bench-peers``: Tandem beside its peers in one interleaved run."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path

from benchmarks import inprocess
from benchmarks.inprocess import Arrangement
from benchmarks.peers import explore
from benchmarks.peers.catalogue import CORES, PEERS, TANDEM, Peer
from benchmarks.peers.contest import Contest, say
from benchmarks.peers.plan import LIMIT_ROUNDS, ROUNDS, SETS, PhotographSet, quick
from benchmarks.peers.sustained import Json
from benchmarks.peers.table import markdown
from benchmarks.record import write_record
from tools.example.efficientnet_lite0 import ensure
from tools.load.generator import Generator
from tools.serve.serve import EXAMPLE_MODEL

LIMITS = (Arrangement(CORES, 1, 1), Arrangement(CORES, 1, 1, "opencv"))
NAMES = [peer.name for peer in PEERS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write the record, print its table."""
    options = _parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):  # or such a run would leave its servers behind
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    onnx = ensure(EXAMPLE_MODEL)
    sets = quick(SETS) if options.quick else SETS
    rounds = 1 if options.quick else options.rounds
    chosen = [peer for peer in PEERS if peer.name in (options.only or NAMES)]
    if options.settings:
        explored = explore.run(chosen, sets[0], rounds)
        print("\n".join(explore.lines(explored)))
        print(f"record: {write_record('peers-settings', explored, options.out)}")
        return 0
    peers = [peer for peer in PEERS if peer in (TANDEM, *chosen)]
    result = contest(peers, sets[: options.sets], rounds, onnx)
    print(markdown(result))
    print(f"record: {write_record('peers', result, options.out)}")
    return 130 if result["interrupted"] else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test; its figures are noise")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of all sets and servers")
    parser.add_argument("--only", choices=NAMES, action="append", help="beside Tandem; repeatable")
    parser.add_argument("--sets", type=int, default=len(SETS), help="the first so many")
    parser.add_argument(
        "--settings",
        action="store_true",
        help="try each peer's other settings instead, on the usual photographs",
    )
    parser.add_argument("--out", type=Path, help="record (default: benchmarks/records/…)")
    return parser


def contest(peers: Sequence[Peer], sets: Sequence[PhotographSet], rounds: int, onnx: Path) -> Json:
    """All rounds of all sets and servers, and the limit in some of them; Ctrl-C ends it early."""
    start_s = time.monotonic()
    cells: list[Json] = []
    limits: list[Json] = []
    with Generator() as generator, Contest(sets, generator) as run:
        for peer in peers:
            run.enter(peer)
            if not run.servers:  # Tandem is the first
                raise SystemExit("there is nothing to compare with")
        interrupted = False
        try:
            for number, one in product(range(rounds), sets):
                cells += run.round(number, one)
                if number in LIMIT_ROUNDS:
                    limits += limit(number, one, onnx)
        except KeyboardInterrupt:
            interrupted = True
    return {
        "wall_s": round(time.monotonic() - start_s),
        "interrupted": interrupted,
        "sets": [described(one) for one in sets],
        "rounds": rounds,
        "peers": run.facts,
        "limits": limits,
        "cells": cells,
    }


def limit(number: int, photographs: PhotographSet, onnx: Path) -> list[Json]:
    """The chain in plain processes, with Tandem's decoder and with its peers'."""
    rows = []
    for arrangement in LIMITS:
        speed = inprocess.measure(
            arrangement, onnx, photographs.window_s, photographs.photographs()
        )
        row = {"set": photographs.name, "round": number, **asdict(arrangement), **asdict(speed)}
        rows.append(row)
        say(
            f"round {number + 1}, {photographs.name}, in process with {arrangement.decoder}: "
            f"{speed.images_per_s:.0f} images/s"
        )
    return rows


def described(photographs: PhotographSet) -> Json:
    """Of a set, for the record."""
    sizes = sorted(map(len, photographs.photographs()))
    fields = {"count": len(sizes), "median_bytes": sizes[len(sizes) // 2]}
    return {**asdict(photographs), **fields}


if __name__ == "__main__":
    sys.exit(main())

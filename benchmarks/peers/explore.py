"""``--settings``: each peer with its settings and with others, to find those it does best with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from benchmarks.peers.catalogue import Peer, Settings
from benchmarks.peers.contest import Contest
from benchmarks.peers.plan import PhotographSet
from benchmarks.peers.sustained import Json, of_peer, over
from benchmarks.peers.words import number, rate, ratio
from tools.load.generator import Generator

CALLERS = (1, 4, 16)


def run(peers: Sequence[Peer], photographs: PhotographSet, rounds: int) -> Json:
    """Each peer's variants beside each other, one peer after the other."""
    start_s = time.monotonic()
    one = replace(photographs, callers=CALLERS)
    facts: Json = {}
    cells: list[Json] = []
    for peer in peers:
        if not peer.tried:
            continue
        with Generator() as generator, Contest([one], generator) as contest:
            for variant in variants(peer):
                contest.enter(variant)
            for number in range(rounds):
                cells += contest.round(number, one)
            facts |= contest.facts
    wall_s = round(time.monotonic() - start_s)
    return {"wall_s": wall_s, "sets": [asdict(one)], "peers": facts, "cells": cells}


def variants(peer: Peer) -> Iterator[Peer]:
    """With its settings, then with each of those that were tried."""
    yield peer
    for place, difference in enumerate(peer.tried, 1):
        yield replace(
            peer,
            name=f"{peer.name}-{place}",
            title=f"{peer.title}, {words(difference)}",
            settings={**peer.settings, **difference},
        )


def words(difference: Settings) -> str:
    """Of settings: names and values."""
    return ", ".join(
        f"{name}={' '.join(value) if isinstance(value, dict) else value}"
        for name, value in difference.items()
    )


def lines(record: Json) -> Iterator[str]:
    """For a reader: each variant over its peer's own settings."""
    (photographs,) = record["sets"]
    yield f"images/s at p95 <= {photographs['slo_p95_ms']:g} ms, and over the peer's settings"
    for name, fact in record["peers"].items():
        base = name.partition("-")[0]
        if "left_out" in fact:
            yield f"{fact['title']}: left out, {fact['left_out'].splitlines()[-1]}"
            continue
        mine = of_peer(record, photographs["name"], name)
        against = over(record, photographs["name"], name, base)
        figures = f"p50 of one caller {number(mine.p50_ms, 1)} ms, "
        figures += f"server CPU {number(mine.server_cpu_ms, 1)} ms an image"
        yield f"{fact['title']}: {rate(mine)}, {ratio(against)}, {figures}"

"""``python -m benchmarks.peers.table RECORD``: what a record says, as Markdown and as a chart."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peers.catalogue import TANDEM
from benchmarks.peers.plot import svg
from benchmarks.peers.sustained import Json, Result, middle, of_peer, over
from benchmarks.peers.words import number, rate, ratio


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables of a record, and draw its chart if a file for it is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.table", description=__doc__)
    parser.add_argument("record", type=Path, help="of make bench-peers")
    parser.add_argument("--svg", type=Path, help="draw the first set of photographs into this file")
    options = parser.parse_args(arguments)
    record = json.loads(options.record.read_text(encoding="utf-8"))
    print(markdown(record))
    if options.svg:
        options.svg.write_text(svg(record, record["sets"][0]), encoding="utf-8")
    return 0


def markdown(record: Json) -> str:
    """A table for each set of photographs, fastest first."""
    tables = ["\n".join(_table(record, one)) for one in record["sets"]]
    return "\n\n".join([*tables, *_left_out(record)])


def _table(record: Json, photographs: Json) -> Iterator[str]:
    name, highest = photographs["name"], photographs["callers"][-1]
    yield f"Photographs of {name}, p95 at most {photographs['slo_p95_ms']:g} ms:"
    yield ""
    columns = ["server", "images/s at that p95", "Tandem over it", "most images/s"]
    columns += ["p50 of one caller, ms", f"server CPU an image at {highest} callers, ms"]
    yield _row(columns)
    yield _row(["---", *["---:"] * (len(columns) - 1)])
    for peer, result in _fastest_first(record, name):
        against = "1" if peer == TANDEM.name else ratio(over(record, name, TANDEM.name, peer))
        title = record["peers"][peer]["title"]
        figures = [number(result.most_images_per_s), number(result.p50_ms, 1)]
        yield _row([title, rate(result), against, *figures, number(result.server_cpu_ms, 1)])
    yield from _limits(record, name)


def _fastest_first(record: Json, set_name: str) -> list[tuple[str, Result]]:
    found = {peer: of_peer(record, set_name, peer) for peer in record["peers"]}
    known = {peer: one for peer, one in found.items() if one.most_images_per_s is not None}

    def speed(item: tuple[str, Result]) -> tuple[float, float]:
        within = item[1].images_per_s
        return (within.value if within else 0.0, item[1].most_images_per_s or 0.0)

    return sorted(known.items(), key=speed, reverse=True)


def _limits(record: Json, set_name: str) -> Iterator[str]:
    rows = [row for row in record["limits"] if row["set"] == set_name]
    for decoder, title in (("served", "its own stages"), ("opencv", "the peers' chain")):
        mine = [row for row in rows if row["decoder"] == decoder]
        if mine:
            most = number(middle(row["images_per_s"] for row in mine))
            cpu = number(middle(row["cpu_ms_per_image"] for row in mine), 1)
            yield _row([f"*no server, {title}*", "", "", most, "", cpu])


def _left_out(record: Json) -> list[str]:
    return [
        f"{fact['title']} was left out: {fact['left_out'].strip().splitlines()[-1]}"
        for fact in record["peers"].values()
        if "left_out" in fact
    ]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())

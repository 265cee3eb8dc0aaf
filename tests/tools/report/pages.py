"""Sheets of every odd kind, and a parser that faults what a browser would have to mend."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np

from tests.fakes.records import BASELINE, CLOSED, INTERACTIVE, OPEN, Server, record
from tools.record.record import Cell, Kind, Record
from tools.record.samples import OUTCOMES
from tools.report.sheet import Sheet
from tools.report.webpage import webpage

NASTY = '<script>alert("x")</script>&amp;\'|`=1+1\x1b[31m\u202e @all #1 \ud800'
VOID = {"meta"}


def small(**fields: Any) -> Record:
    """Two targets, two loads, three rounds of a second."""
    return record(**{"loads": CLOSED[1:3], "rounds": 3, "duration_s": 1.0} | fields)


def page_of(*records: Record) -> str:
    """The page; records are named a, b, …"""
    return "".join(webpage([Sheet(chr(97 + n), one) for n, one in enumerate(records)]))


def sheet_of(one: Record) -> Sheet:
    return Sheet("a", one)


def failed(cell: Cell) -> Cell:
    """The same cell without one success."""
    outcome = np.full(len(cell.samples), OUTCOMES.index("network"))
    return replace(cell, samples=replace(cell.samples, outcome=outcome))


def without_requests(cell: Cell) -> Cell:
    columns = {name: column[:0] for name, column in vars(cell.samples).items()}
    return replace(cell, samples=replace(cell.samples, **columns))


def nasty() -> Record:
    """Every word of it is hostile."""
    plain = small(targets=(BASELINE, replace(INTERACTIVE, refused=0.1)), loads=OPEN[1:2])
    load = replace(OPEN[1], arrivals=NASTY)
    targets = tuple(
        replace(
            target,
            name=target.name + NASTY,
            server=NASTY,
            model=NASTY,
            profile=NASTY,
            steps=(),
            configurations={NASTY: {NASTY: NASTY}},
        )
        for target in plain.targets
    )
    cells = tuple(
        replace(
            cell,
            target=cell.target + NASTY,
            load=load,
            protocol=NASTY,
            stages=tuple(replace(stage, model=stage.model + NASTY) for stage in cell.stages),
            unused=NASTY if cell.round == 0 else None,
        )
        for cell in plain.cells
    )
    return replace(
        plain,
        targets=targets,
        cells=cells,
        created=NASTY,
        engine=NASTY,
        command=(NASTY, "```"),
        origin={NASTY: NASTY, "machine": {"cpu": NASTY, "cores": 2}},
        mix=(Kind(NASTY, 0.5, images=NASTY), Kind(NASTY, 0.5)),
    )


def odd() -> dict[str, Record]:
    """Records that a report has to survive, by what is odd about them."""
    plain = small()
    nameless = tuple(replace(target, steps=(), configurations={}) for target in plain.targets)
    nothing = replace(small(loads=CLOSED[1:2]).cells[0], duration_s=float("nan"))
    return {
        "plain": plain,
        "one target": small(targets=(BASELINE,)),
        "many targets": small(
            targets=[Server(f"t{n}") for n in range(20)], loads=CLOSED[:1], rounds=1
        ),
        "one round": small(rounds=1),
        "no SLO": small(slo_p95_ms=None),
        "closed and open": small(loads=(*CLOSED[:2], *OPEN[:2])),
        "two protocols": small(protocols=("grpc", "http")),
        "classes": small(mix=(Kind("urgent", 0.5, 1, 20.0), Kind("bulk", 0.5))),
        "large batches": small(targets=(BASELINE, Server("bulk", max_batch=64)), loads=CLOSED[3:]),
        "no stages": replace(plain, cells=tuple(replace(c, stages=()) for c in plain.cells)),
        "no steps": replace(plain, targets=nameless),
        "perf_analyzer": small(engine="perf_analyzer 2.61.0", targets=(BASELINE,)),
        "interrupted": small(interrupted=True),
        "no targets": replace(plain, targets=(), cells=()),
        "no cells": replace(plain, cells=()),
        "no requests": replace(plain, cells=tuple(map(without_requests, plain.cells))),
        "no success": replace(plain, cells=tuple(map(failed, plain.cells))),
        "no number": replace(plain, cells=(nothing,)),
        "unused": replace(plain, cells=tuple(replace(c, unused="late") for c in plain.cells)),
        "no origin": small(origin={}),
        "no mix": small(mix=(Kind(),)),
        "unknown target": replace(plain, cells=tuple(replace(c, target="x") for c in plain.cells)),
        "nasty": nasty(),
    }


ODD = odd()


@cache
def odd_sheet(name: str) -> Sheet:
    """One of them, reduced once."""
    return sheet_of(ODD[name])


@cache
def odd_page(name: str) -> str:
    """The page of one of them."""
    return "".join(webpage([odd_sheet(name)]))


class Page(HTMLParser):
    """A page as a browser reads it.

    Attributes:
        faults: tags that are not closed in turn.
        tags: every start tag with its attributes.
        text: what a reader sees, and what a pointer shows.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        self.faults += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data

    def named(self, tag: str) -> list[dict[str, str]]:
        """Attributes of each such element."""
        return [attributes for name, attributes in self.tags if name == tag]

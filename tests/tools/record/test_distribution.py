"""Distributions for plots: every answer is in a bin, on edges that all targets share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.fakes.records import CLOSED, OPEN, Server, record
from tools.record.distribution import distributions
from tools.record.summary import summarise


def test_every_answer_of_all_rounds_is_in_the_bin_of_its_latency() -> None:
    given = record((Server("a"), Server("b", refused=0.3)), OPEN, rounds=3)
    for one, summary in zip(distributions(given), summarise(given), strict=True):
        assert (one.target, one.load, one.protocol) == (
            summary.target,
            summary.load,
            summary.protocol,
        )
        assert one.counts.sum() == summary.served
        assert one.failed == summary.requests - summary.served
        cells = [c for c in given.cells if (c.target, c.load) == (one.target, one.load)]
        latency_ms = np.concatenate([1e3 * c.samples.latency_s[c.samples.served] for c in cells])
        assert one.counts[: len(one.counts) // 2].sum() == pytest.approx(
            (latency_ms < one.edges_ms[len(one.counts) // 2]).sum(), abs=0
        )


def test_edges_are_the_same_for_all_and_a_twentieth_of_a_decade_apart() -> None:
    found = distributions(record(loads=CLOSED[:2], rounds=1))
    edges_ms = found[0].edges_ms
    assert all(one.edges_ms is edges_ms for one in found)
    assert np.diff(np.log10(edges_ms)) == pytest.approx(0.05)
    coarse = distributions(record(loads=CLOSED[:2], rounds=1), bins_per_decade=5)
    assert np.diff(np.log10(coarse[0].edges_ms)) == pytest.approx(0.2)


def test_cells_that_do_not_count_are_left_out() -> None:
    given = record(loads=CLOSED[:1], rounds=2)
    cells = tuple(replace(cell, unused="late") if cell.round else cell for cell in given.cells)
    half = distributions(replace(given, cells=cells))[0]
    assert half.counts.sum() == len(given.cells[0].samples)


def test_without_answers_the_bins_are_empty() -> None:
    (one,) = distributions(record((Server("a", refused=1.0),), CLOSED[:1], rounds=1))
    assert one.counts.sum() == 0
    assert one.failed > 0
    assert len(one.edges_ms) == len(one.counts) + 1
    assert distributions(record(cells=())) == ()


def test_a_latency_of_zero_is_in_the_first_bin() -> None:
    given = record(loads=CLOSED[:1], rounds=1)
    cell = given.cells[0]
    latency_s = cell.samples.latency_s.copy()
    latency_s[:5] = 0.0
    cells = (replace(cell, samples=replace(cell.samples, latency_s=latency_s)),)
    one = distributions(replace(given, cells=cells))[0]
    assert one.counts.sum() == len(latency_s)
    assert one.counts[0] >= 5

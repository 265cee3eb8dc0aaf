"""NVIDIA's perf_analyzer and our generator, in turn on the real server, measure the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ensemble.errors import ContractMismatch
from tests.conftest import RunningServer
from tools.bench.classes import classes_of
from tools.bench.perf_analyzer import PerfAnalyzer
from tools.load.generated import Generated
from tools.load.generator import Generator
from tools.load.loads import ClosedLoop, Run
from tools.perf_analyzer.program import program
from tools.record.cells import throughput_per_s
from tools.record.intervals import t_quantile
from tools.record.record import Cell, Load

PAIRS, CALLERS = 6, 2
LEVEL = 0.999
"""One in a thousand runs of either quantity is told apart though nothing differs."""


def agree(ours: list[float], theirs: list[float]) -> bool:
    """Whether the interval of the mean ratio over pairs has 1 in it."""
    logs = np.log(np.array(ours) / np.array(theirs))
    half = t_quantile(LEVEL, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs))
    return bool(abs(logs.mean()) <= half)


def test_engines_of_which_one_counts_otherwise_are_told_apart() -> None:
    noisy = [50.0, 55.0, 46.0, 51.0, 57.0, 48.0]
    others = [51.0, 54.0, 45.0, 55.0, 50.0, 49.0]
    assert agree(noisy, others)
    assert not agree([2 * one for one in noisy], others)
    assert not agree(noisy, [1.5 * one for one in others])


def figures(run: Run, generated: Generated) -> tuple[float, float]:
    """Throughput and p50, as the summary of a record has them."""
    assert generated.fault is None
    assert generated.samples.errors() == {}
    duration_s = generated.duration_s or run.duration_s
    cell = Cell(0, "here", Load("closed", CALLERS), run.protocol, duration_s, generated.samples)
    latency_s = generated.samples.latency_s
    return throughput_per_s(cell, cell.samples.served), float(np.median(latency_s))


@pytest.mark.server
def test_both_engines_agree_in_a_closed_loop(server: RunningServer) -> None:
    try:
        program()
    except ContractMismatch as error:
        pytest.skip(str(error))
    mix = tuple(classes_of([], None, seed=0))
    run = Run("grpc", server.grpc, "ensemble", ClosedLoop(CALLERS), 0.7, mix)
    found: dict[str, list[tuple[float, float]]] = {"tandem": [], "perf_analyzer": []}
    with Generator() as own, PerfAnalyzer() as other:
        own.run(run)
        for pair in range(PAIRS):
            for name, engine in (("tandem", own), ("perf_analyzer", other))[:: (-1) ** pair]:
                found[name].append(figures(run, engine.run(run)))
    for quantity in (0, 1):
        ours, theirs = ([one[quantity] for one in found[name]] for name in found)
        assert agree(ours, theirs), found

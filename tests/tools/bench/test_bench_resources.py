"""What was used during a cell; what was not measured stays unknown."""

from __future__ import annotations

import os

import pytest

from tests.fakes.odd_server import body, odd_server
from tests.tools.bench.bench_fakes import still_clock
from tools.bench import resources
from tools.bench.resources import Meter, Usage, usage_of
from tools.bench.targets import Endpoint
from tools.record.record import Resources
from tools.statistics.gpu import Gpus, gpus_of, read_gpus

TWO_GPUS = """
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.25
nv_gpu_utilization{gpu_uuid="GPU-2"} 0.75
nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 1000000000
nv_gpu_memory_used_bytes{gpu_uuid="GPU-2"} 3.5e9
nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 8000000000
"""


class Ours:
    """A server of our own: this process."""

    pid = os.getpid()


def test_cpu_time_is_what_was_added() -> None:
    before = Usage({1: 2.0, 2: 0.5}, 100)
    assert Usage({1: 3.0, 2: 0.75}, 200).cpu_s_since(before) == 1.25


@pytest.mark.parametrize("later", [{1: 3.0}, {1: 3.0, 3: 0.1}, {1: 3.0, 2: 0.6, 3: 0.1}])
def test_with_another_stub_than_before_it_is_unknown(later: dict[int, float]) -> None:
    assert Usage(later, 0).cpu_s_since(Usage({1: 2.0, 2: 0.5}, 0)) is None


def test_a_process_is_counted_and_one_that_is_gone_is_not() -> None:
    usage = usage_of(os.getpid())
    assert usage is not None
    assert usage.resident_bytes > 1 << 20
    assert usage.cpu_s[os.getpid()] > 0
    assert usage_of(2**22 + 1) is None  # the largest process id of Linux is 2**22


def test_two_gpus_are_a_mean_and_a_sum() -> None:
    assert gpus_of(TWO_GPUS) == Gpus(utilisation=0.5, memory_bytes=4_500_000_000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        'nv_inference_count{model="m"} 3',
        'nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5',
        'nv_gpu_utilization{gpu_uuid="G"} NaN\nnv_gpu_memory_used_bytes{gpu_uuid="G"} NaN',
        'nv_gpu_utilization{gpu_uuid="G"} x\nnv_gpu_memory_used_bytes{gpu_uuid="G"} y',
    ],
)
def test_without_a_gpu_it_is_unknown(text: str) -> None:
    assert gpus_of(text) is None


def test_a_server_without_metrics_has_no_gpu_that_is_known() -> None:
    with odd_server() as odd:
        assert read_gpus(f"{odd.url}/metrics") is None


def test_a_server_of_our_own_has_cpu_time_and_memory() -> None:
    meter = Meter(Endpoint("a", "", "", process=Ours()))  # type: ignore[arg-type]
    sum(range(100_000))
    used = meter.stop(generator_cpu_s=0.25)
    assert used.server_cpu_s is not None
    assert used.server_cpu_s >= 0
    assert used.resident_bytes
    assert (used.generator_cpu_s, used.gpu_utilisation) == (0.25, None)


def test_of_somebody_elses_server_only_the_generator_is_known() -> None:
    assert Meter(Endpoint("a", "", "")).stop(0.25) == Resources(generator_cpu_s=0.25)


def test_gpus_are_looked_at_now_and_then_while_the_cell_runs() -> None:
    now_s = [0.0]
    with odd_server() as odd:
        odd.pages["/metrics"] = body(TWO_GPUS)
        meter = Meter(Endpoint("a", odd.url, "", f"{odd.url}/metrics"), lambda: now_s[0])
        for step in range(1, 11):
            now_s[0] = 0.1 * step
            meter.tick()
        assert len(odd.asked) == 3  # before the cell, and at 0.5 and 1.0 s
        used = meter.stop(None)
    assert (used.gpu_utilisation, used.gpu_memory_bytes) == (0.5, 4_500_000_000)


def test_where_there_is_no_gpu_nobody_asks_again() -> None:
    clock = still_clock()
    with odd_server() as odd:
        odd.pages["/metrics"] = body('nv_inference_count{model="m"} 3')
        meter = Meter(Endpoint("a", odd.url, "", f"{odd.url}/metrics"), clock.now_s)
        for _ in range(5):
            clock.sleep(resources.GPU_EVERY_S)
            meter.tick()
        assert len(odd.asked) == 1

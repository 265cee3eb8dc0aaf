"""Prometheus' text is read as it is; what it does not say stays unknown."""

from __future__ import annotations

from tools.statistics.counters import Model
from tools.statistics.metrics import Gpu, Metrics, metrics_of

M = Model("m", "1")
LABELS = 'model="m",version="1"'


def summary(value: str, quantile: str = "0.95", gpu: str = "") -> str:
    return f'nv_inference_request_summary_us{{{gpu}{LABELS},quantile="{quantile}"}} {value}\n'


def test_quantiles_are_read_in_seconds() -> None:
    found = metrics_of(summary("84000") + summary("3e4", "0.5"))
    assert found.quantiles_s == {M: {0.95: 0.084, 0.5: 0.03}}
    assert found.has_quantiles


def test_a_minute_without_requests_has_no_quantiles() -> None:
    assert metrics_of(summary("Nan")) == Metrics(has_quantiles=True)


def test_a_server_that_keeps_no_quantiles_is_not_given_any() -> None:
    found = metrics_of(f"nv_inference_request_success{{{LABELS}}} 3\n")
    assert found == Metrics({M: 3})
    assert not found.has_quantiles


def test_of_several_gpus_the_slowest_bounds_the_quantile() -> None:
    text = summary("10", gpu='gpu_uuid="a",') + summary("30", gpu='gpu_uuid="b",')
    assert metrics_of(text + summary("20", gpu='gpu_uuid="c",')).quantiles_s == {M: {0.95: 3e-5}}


def test_quantiles_that_are_none_are_left_out() -> None:
    text = "".join(summary("10", quantile) for quantile in ("x", "", "-0.5", "2", "nan"))
    assert metrics_of(text).quantiles_s == {M: {}}


def test_gpus_and_the_cpu_are_read() -> None:
    text = """\
nv_gpu_utilization{gpu_uuid="GPU-b"} 0.67
nv_gpu_memory_used_bytes{gpu_uuid="GPU-b"} 1024
nv_gpu_memory_total_bytes{gpu_uuid="GPU-b"} 4096
nv_gpu_memory_total_bytes{gpu_uuid="GPU-a"} 4096
nv_cpu_utilization 0.5
nv_pinned_memory_pool_total_bytes 268435456
"""
    found = metrics_of(text)
    assert found.gpus == {"GPU-a": Gpu(None, None, 4096), "GPU-b": Gpu(0.67, 1024, 4096)}
    assert list(found.gpus) == ["GPU-a", "GPU-b"]
    assert found.cpu_utilisation == 0.5


def test_several_gpus_are_a_mean_and_a_sum() -> None:
    gpus = {"a": Gpu(0.25, 1000), "b": Gpu(0.75, 3500), "c": Gpu()}
    found = Metrics(gpus=gpus)
    assert (found.gpu_utilisation, found.gpu_memory_bytes) == (0.5, 4500)
    without = Metrics(gpus={"c": Gpu()})
    assert (without.gpu_utilisation, without.gpu_memory_bytes) == (None, None)


def test_what_is_no_number_is_not_known() -> None:
    text = "nv_cpu_utilization NaN\nnv_gpu_utilization{} lots\nnv_gpu_memory_used_bytes{} +Inf\n"
    assert metrics_of(text) == Metrics()

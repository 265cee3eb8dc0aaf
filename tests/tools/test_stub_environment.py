"""What the stages on the CPU are started with: BLAS for this processor, memory that is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.serve.installation import stub_environment

AVX2 = "fpu sse2 avx avx2 fma"
AVX512 = f"{AVX2} avx512f avx512cd avx512bw avx512dq avx512vl"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GLIBC_TUNABLES", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [(AVX512, "SkylakeX"), (AVX2, "Haswell"), (AVX512.replace("avx512dq", ""), "Haswell")],
)
def test_blas_is_told_what_the_processor_can_do(tmp_path: Path, flags: str, expected: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags}\nprocessor\t: 1\n")
    assert stub_environment(cpuinfo)["OPENBLAS_CORETYPE"] == expected


@pytest.mark.parametrize("text", ["processor\t: 0\nflags\t\t: fpu sse2\n", "", None])
def test_nothing_is_said_of_a_processor_that_is_not_known(tmp_path: Path, text: str | None) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    if text is not None:
        cpuinfo.write_text(text)
    found = stub_environment(cpuinfo)
    assert "OPENBLAS_CORETYPE" not in found
    assert found["OPENBLAS_NUM_THREADS"] == "1"
    assert "mmap_threshold" in found["GLIBC_TUNABLES"]


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    found = stub_environment()
    assert (found["OPENBLAS_CORETYPE"], found["OPENBLAS_NUM_THREADS"]) == ("Zen", "4")

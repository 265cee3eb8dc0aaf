"""Where Triton is on this machine, and what it needs around it to start."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

from ensemble.errors import ContractMismatch
from tools.environment import find_libpython
from tools.export import ROOT

SERVED_PACKAGES = ("ensemble", "preprocess", "classifier", "postprocess")
# Pixels pass from stage to stage in blocks of megabytes. Unless told to keep them, malloc returns
# each to the kernel, and the next one's pages are cleared anew. A user's own settings win.
MALLOC = ":".join(
    (
        "glibc.malloc.hugetlb=1",
        f"glibc.malloc.mmap_threshold={32 << 20}",
        f"glibc.malloc.trim_threshold={256 << 20}",
    )
)
# OpenBLAS in numpy 1.26 knows processors by number, and has its slowest code for newer ones.
_OPENBLAS = {
    "SkylakeX": {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"},
    "Haswell": {"avx2", "fma"},
}
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def stub_environment(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """What makes stages on the CPU fast; what the user has set stays.

    Args:
        cpuinfo: what Linux says of the processor.
    """
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    flags = next((set(line.split()) for line in lines if line.startswith("flags")), set())
    fastest = next((name for name, needed in _OPENBLAS.items() if needed <= flags), None)
    settings = {"GLIBC_TUNABLES": MALLOC, "OPENBLAS_NUM_THREADS": "1"}
    settings |= {"OPENBLAS_CORETYPE": fastest} if fastest else {}
    return {name: os.environ.get(name, value) for name, value in settings.items()}


@dataclass(frozen=True)
class Installation:
    """A ``tritonserver`` and the flags and environment that make it run here.

    Attributes:
        program: the executable.
        flags: that depend on where it is, not on what it serves.
        environment: added to the server's, and so to its stubs'.
    """

    program: Path
    flags: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


def of_target(target: str, scratch: Path) -> Installation:
    """The server of a target; see ``embedded`` and ``container``."""
    return embedded(scratch) if target == "cpu" else container()


def container() -> Installation:
    """The server of NVIDIA's container, or any other on the PATH.

    Raises:
        ContractMismatch: there is none.
    """
    found = shutil.which("tritonserver") or shutil.which("/opt/tritonserver/bin/tritonserver")
    if found is None:
        raise ContractMismatch(
            "target gpu: no tritonserver on this machine; run NVIDIA's container (README, "
            "'Deploy on a GPU') or use --target cpu"
        )
    return Installation(Path(found))


def embedded(scratch: Path) -> Installation:
    """The server inside the wheel ``nvidia-pytriton``, which can do without its own Python code.

    Args:
        scratch: a folder of this run; a backend directory of links is made in it.

    Raises:
        ContractMismatch: the wheel is missing, or has no stub for this Python.
    """
    site = Path(sysconfig.get_path("purelib"))
    triton = site / "pytriton" / "tritonserver"
    program = triton / "bin" / "tritonserver"
    if not program.exists():
        raise ContractMismatch(
            "target cpu: the wheel nvidia-pytriton is not installed; run 'make setup'"
        )
    stub = triton / "python_backend_stubs" / _PYTHON / "triton_python_backend_stub"
    if not stub.exists():
        known = ", ".join(sorted(path.name for path in stub.parent.parent.iterdir()))
        raise ContractMismatch(f"expected a Python of {known}, got {_PYTHON}: use one of those")
    backends = scratch / "backends"
    (backends / "python").mkdir(parents=True)
    # The wheel's stub ignores PYTHONPATH, but searches the folder of its backend.
    packages = (ROOT / name for name in SERVED_PACKAGES)
    for path in (*(triton / "backends" / "python").iterdir(), stub, *packages):
        if path.suffix == ".so":  # named in a configuration, a link is refused as leading outside
            shutil.copyfile(path, backends / "python" / path.name)
        else:
            (backends / "python" / path.name).symlink_to(path)
    libraries = [str(site / "nvidia_pytriton.libs")]
    libpython = find_libpython()
    if libpython is not None:
        libraries.append(str(libpython.parent))
    return Installation(
        program,
        (
            f"--backend-directory={backends}",
            f"--cache-directory={triton / 'caches'}",
            "--allow-gpu-metrics=false",
        ),
        {
            **stub_environment(),
            "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            # The stub takes the packages of the first python3 on the PATH.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        },
    )

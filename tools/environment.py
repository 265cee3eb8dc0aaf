"""Makes ``.venv`` with a bare Python: checks the machine first, then installs the pins.

``tools/setup.sh`` chooses the Python and runs this before any dependency exists, so only the
standard library is used and nothing of ours is imported.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Source: the tag of the wheel nvidia-pytriton 0.7.0, manylinux_2_35_x86_64.
SYSTEM, PROCESSOR, GLIBC = "Linux", "x86_64", (2, 35)

Run = Callable[[Sequence[str]], None]


@dataclass(frozen=True)
class Machine:
    """What decides whether the server can run here.

    Attributes:
        system: the kernel's name.
        processor: its architecture.
        glibc: version of the C library; None if it is another library.
        python: version of this Python, as in ``3.11``.
        has_ensurepip: so that an environment gets a pip.
        has_libpython: the shared library, which the server's Python backend loads.
        has_apt: this Python is Debian's or Ubuntu's own.
    """

    system: str = SYSTEM
    processor: str = PROCESSOR
    glibc: tuple[int, int] | None = GLIBC
    python: str = "3.11"
    has_ensurepip: bool = True
    has_libpython: bool = True
    has_apt: bool = True

    @property
    def lacks(self) -> list[str]:
        """What this Python should have come with, in words."""
        there = {
            "ensurepip": self.has_ensurepip,
            f"libpython{self.python}.so.1.0": self.has_libpython,
        }
        return [name for name, present in there.items() if not present]

    @property
    def packages(self) -> list[str]:
        """The Debian packages that bring it."""
        there = {
            f"python{self.python}-venv": self.has_ensurepip,
            f"libpython{self.python}": self.has_libpython,
        }
        return [name for name, present in there.items() if not present]


def this_machine() -> Machine:
    """The machine and the Python that run this."""
    return Machine(
        system=platform.system(),
        processor=platform.machine(),
        glibc=_glibc(),
        python=_python(),
        has_ensurepip=all(find_spec(name) is not None for name in ("venv", "ensurepip")),
        has_libpython=find_libpython() is not None,
        has_apt=sys.base_prefix == "/usr" and shutil.which("apt-get") is not None,
    )


def _python() -> str:
    return ".".join(str(part) for part in sys.version_info[:2])


def _glibc() -> tuple[int, int] | None:
    try:
        name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
        major, minor = version.split(".")[:2]
        return (int(major), int(minor)) if name == "glibc" else None
    except (ValueError, OSError):
        return None


def find_libpython() -> Path | None:
    """The shared library of the running Python."""
    folders = [sysconfig.get_config_var("LIBDIR") or ""]
    folders += [f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}", "/usr/lib64", "/usr/lib"]
    names = (Path(folder) / f"libpython{_python()}.so.1.0" for folder in folders if folder)
    return next((path for path in names if path.exists()), None)


def obstacle(machine: Machine) -> str | None:
    """Why the server can't run here and what to do about it; None if it can."""
    if (machine.system, machine.processor) != (SYSTEM, PROCESSOR):
        return (
            f"the server's wheel expects {SYSTEM} on {PROCESSOR}, "
            f"got {machine.system} on {machine.processor}"
        )
    if machine.glibc is None or machine.glibc < GLIBC:
        return (
            f"the server's wheel expects glibc {_dotted(GLIBC)} or later (Ubuntu 22.04, "
            f"Debian 12), got {_dotted(machine.glibc)}"
        )
    if machine.lacks:
        remedy = "install it, or choose another Python: make setup PYTHON=/path/to/python3"
        if machine.has_apt:
            remedy = f"sudo apt-get install {' '.join(machine.packages)}"
        return f"Python {machine.python} lacks {' and '.join(machine.lacks)}: {remedy}"
    return None


def _dotted(version: tuple[int, int] | None) -> str:
    return "another C library" if version is None else ".".join(str(part) for part in version)


def install(root: Path, state: str, run: Run) -> None:
    """Bring ``root/.venv`` to the pins, and write ``state`` to its file ``ready`` at the end.

    The file is away while anything changes. An environment without it was interrupted and is made
    anew: what pip had downloaded is in pip's cache.

    Raises:
        subprocess.CalledProcessError: a step failed; a venv that could not be made is removed.
    """
    venv = root / ".venv"
    ready = venv / "ready"
    if not _reusable(venv, root):
        shutil.rmtree(venv, ignore_errors=True)
        _make(venv, run)
    ready.unlink(missing_ok=True)
    # The lock is complete, so nothing is resolved; and the server's wheel is to come alone.
    pip = [str(venv / "bin" / "python"), "-I", "-m", "pip", "install", "--no-deps"]
    pip += ["--no-input", "--disable-pip-version-check"]
    files = [str(root / name) for name in ("requirements.lock", "requirements-triton.txt")]
    run([*pip, "--only-binary=:all:", "--requirement", files[0], "--requirement", files[1]])
    run([*pip, "--quiet", "--no-build-isolation", "--editable", str(root)])
    ready.write_text(f"{state}\n", encoding="utf-8")


def _make(venv: Path, run: Run) -> None:
    # In an activated environment sys.executable is inside it, perhaps inside the one just removed.
    base = getattr(sys, "_base_executable", sys.executable)
    try:
        run([base, "-I", "-m", "venv", str(venv)])
    except subprocess.CalledProcessError:
        shutil.rmtree(venv, ignore_errors=True)
        raise


def _reusable(venv: Path, root: Path) -> bool:
    """Finished once, by this Python, and not moved since."""
    try:
        config = (venv / "pyvenv.cfg").read_text(encoding="utf-8")
        state = (venv / "ready").read_text(encoding="utf-8")
    except OSError:
        return False
    values = dict(line.split(" = ", 1) for line in config.splitlines() if " = " in line)
    home = str(Path(getattr(sys, "_base_executable", sys.executable)).parent)
    same = (values.get("home"), values.get("version")) == (home, platform.python_version())
    return same and state.strip().endswith(f" {root}")


def _run(command: Sequence[str]) -> None:
    environment = os.environ | {"PIP_USER": "0"}
    subprocess.run(command, check=True, stdout=sys.stderr, env=environment)


def _say(text: str) -> None:
    sys.stderr.write(f"setup: {text}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 0 good, 2 not on this machine, or that of the step that failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--state", default="", help="what the result is made from")
    parser.add_argument("--missing", action="store_true", help="print missing Debian packages")
    arguments = parser.parse_args(argv)
    machine = this_machine()
    if arguments.missing:
        sys.stdout.write("".join(f"{name}\n" for name in machine.packages))
        return 0
    reason = obstacle(machine)
    if reason is not None:
        _say(reason)
        return 2
    return _install(machine, arguments.state)


def _install(machine: Machine, state: str) -> int:
    _say(f"making .venv with Python {machine.python}: 0.8 GB to download once, 1.8 GB on disk")
    try:
        install(ROOT, state, _run)
    except KeyboardInterrupt:
        _say("interrupted; the next 'make setup' goes on from what was downloaded")
        return 130
    except subprocess.CalledProcessError as error:
        _say(f"a step failed: {' '.join(error.cmd)}")
        return error.returncode or 1
    _say(f"ready: {ROOT / '.venv'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

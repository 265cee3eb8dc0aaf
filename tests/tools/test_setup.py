"""``make setup`` says what a machine lacks before it downloads, and leaves nothing half made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools import environment
from tools.environment import Machine, install, obstacle

ROOT = Path(__file__).resolve().parents[2]


class Steps:
    """Stands in for running commands: makes what venv makes, and fails where it is told to."""

    def __init__(self, root: Path, fails_at: str | None = None) -> None:
        self.root = root
        self.fails_at = fails_at
        self.failure: BaseException = subprocess.CalledProcessError(1, ["step"])
        self.said: list[str] = []

    def __call__(self, command: Sequence[str]) -> None:
        assert not (self.root / ".venv" / "ready").exists()
        self.said.append(" ".join(command))
        if "venv" in command:
            venv = Path(command[-1])
            (venv / "bin").mkdir(parents=True)
            home = Path(command[0]).parent
            version = ".".join(map(str, sys.version_info[:3]))
            (venv / "pyvenv.cfg").write_text(f"home = {home}\nversion = {version}\n")
        if self.fails_at is not None and self.fails_at in command:
            raise self.failure


def test_a_fit_machine_has_no_obstacle() -> None:
    assert obstacle(Machine()) is None
    assert obstacle(Machine(glibc=(3, 0))) is None


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (Machine(system="Darwin", processor="arm64"), "Linux on x86_64, got Darwin on arm64"),
        (Machine(processor="aarch64"), "Linux on x86_64, got Linux on aarch64"),
        (Machine(glibc=(2, 31)), "glibc 2.35 or later (Ubuntu 22.04, Debian 12), got 2.31"),
        (Machine(glibc=None), "got another C library"),
        (
            Machine(python="3.12", has_ensurepip=False),
            "Python 3.12 lacks ensurepip: sudo apt-get install python3.12-venv",
        ),
        (
            Machine(has_libpython=False),
            "Python 3.11 lacks libpython3.11.so.1.0: sudo apt-get install libpython3.11",
        ),
        (
            Machine(has_ensurepip=False, has_libpython=False),
            "libpython3.11.so.1.0: sudo apt-get install python3.11-venv libpython3.11",
        ),
        (Machine(has_libpython=False, has_apt=False), "make setup PYTHON=/path/to/python3"),
    ],
)
def test_an_obstacle_is_named_with_its_remedy(machine: Machine, says: str) -> None:
    assert str(obstacle(machine)).endswith(says)


def test_this_machine_is_described_by_the_python_that_runs() -> None:
    machine = environment.this_machine()
    assert machine.python == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert obstacle(machine) is None


def test_a_missing_ensurepip_and_libpython_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    monkeypatch.setattr(environment, "find_libpython", lambda: None)
    machine = environment.this_machine()
    assert (machine.has_ensurepip, machine.has_libpython) == (False, False)


def test_another_c_library_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "confstr", lambda name: None)
    assert environment.this_machine().glibc is None


def test_an_unfit_machine_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "this_machine", lambda: Machine(has_ensurepip=False))
    monkeypatch.setattr(environment, "install", lambda *_: pytest.fail("it was not to install"))
    assert environment.main(["--state", "s"]) == 2
    assert "python3.11-venv" in capsys.readouterr().err
    assert environment.main(["--missing"]) == 0
    assert capsys.readouterr().out == "python3.11-venv\n"


def test_setup_installs_the_pins_alone_and_is_ready_last(tmp_path: Path) -> None:
    steps = Steps(tmp_path)
    install(tmp_path, f"sum {tmp_path}", steps)
    venv, pins, project = steps.said
    assert venv.endswith(f"-m venv {tmp_path / '.venv'}")
    for words in ("--no-deps", "--only-binary=:all:", "requirements.lock", "requirements-triton"):
        assert words in pins
    assert project.endswith(f"--editable {tmp_path}")
    assert (tmp_path / ".venv" / "ready").read_text() == f"sum {tmp_path}\n"


def test_new_pins_go_into_the_same_environment(tmp_path: Path) -> None:
    install(tmp_path, f"old {tmp_path}", Steps(tmp_path))
    steps = Steps(tmp_path)
    install(tmp_path, f"new {tmp_path}", steps)
    assert not any(" -m venv " in line for line in steps.said)
    assert (tmp_path / ".venv" / "ready").read_text() == f"new {tmp_path}\n"


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), subprocess.CalledProcessError(1, ["x"])])
@pytest.mark.parametrize("again", [False, True], ids=["the first", "an update"])
def test_what_was_interrupted_is_made_anew(
    tmp_path: Path, failure: BaseException, again: bool
) -> None:
    if again:
        install(tmp_path, f"old {tmp_path}", Steps(tmp_path))
    steps = Steps(tmp_path, fails_at="pip")
    steps.failure = failure
    with pytest.raises(type(failure)):
        install(tmp_path, f"sum {tmp_path}", steps)
    assert not (tmp_path / ".venv" / "ready").exists()
    steps = Steps(tmp_path)
    install(tmp_path, f"sum {tmp_path}", steps)
    assert " -m venv " in steps.said[0]


def test_an_environment_that_can_not_be_made_is_removed(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        install(tmp_path, "sum", Steps(tmp_path, fails_at="venv"))
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("change", ["moved", "another version", "another folder"])
def test_an_environment_that_no_longer_fits_is_made_anew(tmp_path: Path, change: str) -> None:
    install(tmp_path, f"sum {'/elsewhere' if change == 'moved' else tmp_path}", Steps(tmp_path))
    config = tmp_path / ".venv" / "pyvenv.cfg"
    if change == "another version":
        config.write_text(config.read_text().replace("version = 3.", "version = 2."))
    if change == "another folder":
        config.write_text(config.read_text().replace("home = ", "home = /old"))
    steps = Steps(tmp_path)
    install(tmp_path, f"sum {tmp_path}", steps)
    assert " -m venv " in steps.said[0]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that ``setup.sh`` reads; its Python half only says what it was called with."""
    root = tmp_path / "a checkout"
    (root / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "setup.sh", root / "tools")
    for name in ("requirements.lock", "requirements-triton.txt", "pyproject.toml"):
        (root / name).write_text(name)
    (root / "tools" / "environment.py").write_text("import sys\nprint(sys.argv[1:])")
    (root / "bin").mkdir()
    for name in ("cat", "cksum", "dirname", "sh"):
        (root / "bin" / name).symlink_to(str(shutil.which(name)))
    return root


def put_python(checkout: Path, name: str, version: str) -> Path:
    """A Python that says it has this version, in words and by how ``setup.sh`` asks."""
    fits = "0" if version in ("3.10", "3.13") else "1"
    path = checkout / "bin" / name
    path.write_text(
        f'#!/bin/sh\n[ "$1" != --version ] || {{ echo "Python {version}"; exit; }}\n'
        f'[ "$2" != -c ] || {{ echo {version}; exit {fits}; }}\necho "{name} runs $*"\n'
    )
    path.chmod(0o755)
    return path


def setup(checkout: Path, *arguments: str, python: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(checkout / "tools" / "setup.sh"), *arguments],
        env={"PATH": str(checkout / "bin"), "PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_python_that_fits_is_taken(checkout: Path) -> None:
    put_python(checkout, "python3", "3.14")
    put_python(checkout, "python3.13", "3.13")
    put_python(checkout, "python3.10", "3.10")
    done = setup(checkout)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("python3.13 runs -I tools/environment.py")


def test_without_a_python_that_fits_it_says_so(checkout: Path) -> None:
    put_python(checkout, "python3", "3.9")
    done = setup(checkout)
    assert done.returncode == 2
    assert "expected a Python 3.10 to 3.13 on the PATH, got none" in done.stderr
    assert not (checkout / ".venv").exists()


def test_the_named_python_is_taken_or_refused(checkout: Path) -> None:
    put_python(checkout, "python3", "3.10")
    named = put_python(checkout, "mine", "3.13")
    assert "mine runs" in setup(checkout, python=str(named)).stdout
    refused = setup(checkout, python=str(put_python(checkout, "old", "3.9")))
    assert refused.returncode == 2
    assert "(Python 3.9)" in refused.stderr
    assert "got PYTHON=/nowhere" in setup(checkout, python="/nowhere").stderr


def test_the_real_check_of_the_version_accepts_this_python(checkout: Path) -> None:
    done = setup(checkout, python=sys.executable)
    assert done.returncode == 0, done.stderr
    assert "--state" in done.stdout


@pytest.fixture
def ready(checkout: Path) -> Path:
    """A checkout whose environment is ready."""
    put_python(checkout, "python3", "3.10")
    state = setup(checkout).stdout.splitlines()[-1].partition("--state ")[2]
    (checkout / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(put_python(checkout, "python", "3.10"), checkout / ".venv" / "bin")
    (checkout / ".venv" / "ready").write_text(f"{state}\n")
    return checkout


def test_a_ready_environment_is_left_alone(ready: Path) -> None:
    done = setup(ready)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert setup(ready, python=str(ready / "bin" / "python3")).stdout == ""


@pytest.mark.parametrize(
    "name", ["requirements.lock", "requirements-triton.txt", "pyproject.toml", "tools/setup.sh"]
)
def test_a_changed_file_makes_it_run_again(ready: Path, name: str) -> None:
    with (ready / name).open("a") as file:
        file.write("\n# changed\n")
    assert "python3 runs" in setup(ready).stdout


def test_another_python_makes_it_run_again(ready: Path) -> None:
    assert "other runs" in setup(ready, python=str(put_python(ready, "other", "3.13"))).stdout


def test_a_moved_checkout_makes_it_run_again(ready: Path) -> None:
    moved = ready.rename(ready.with_name("moved"))
    assert "python3 runs" in setup(moved).stdout


def test_a_python_that_was_removed_makes_it_run_again(ready: Path) -> None:
    (ready / ".venv" / "bin" / "python").unlink()
    assert "python3 runs" in setup(ready).stdout


def test_asking_what_is_missing_changes_nothing(ready: Path) -> None:
    assert setup(ready, "--missing").stdout.splitlines()[-1].endswith("--missing")

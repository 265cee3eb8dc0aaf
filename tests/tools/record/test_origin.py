"""A record can be made where git or a package is missing; what is not known is not made up."""

from __future__ import annotations

import json

import pytest

from tools.record import origin as module
from tools.record.origin import origin


def test_it_tells_machine_versions_and_commit() -> None:
    found = origin()
    assert found["machine"]["cores"] >= 1
    assert found["versions"]["numpy"]
    json.dumps(found)


def test_without_git_the_commit_is_unknown_and_changes_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    found = origin()
    assert (found["commit"], found["changed_files"]) == ("unknown", None)


def test_a_package_that_is_not_there_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", ("numpy", "no-such-package"))
    assert origin()["versions"]["no-such-package"] is None


def test_it_tells_no_host_and_no_folder() -> None:
    import platform

    text = json.dumps(origin())
    assert platform.node() not in text
    assert str(module.ROOT) not in text

"""The log of a server for one measurement stays when an error names it, and goes otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ensemble.errors import BackendFailure
from tools.serve.temporary import _kept_on_failure


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        (lambda path: BackendFailure(f"it ended; log: {path}"), True),
        (lambda path: BackendFailure("the server beside it ended"), False),
        (lambda path: KeyboardInterrupt(), False),
    ],
    ids=["named", "another server's", "Ctrl-C"],
)
def test_a_log_stays_when_an_error_names_it(
    tmp_path: Path, error: Callable[[Path], BaseException], stays: bool
) -> None:
    path = tmp_path / "server.log"
    path.write_text("what it said")
    with pytest.raises((BackendFailure, KeyboardInterrupt)), _kept_on_failure(path):
        raise error(path)
    assert path.exists() == stays


def test_when_all_went_well_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with _kept_on_failure(path):
        path.write_text("what it said")
    assert not path.exists()

"""A second real server, which serves models that are wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import RunningServer, running_server
from tests.serving.repositories import FAULTS, add_ensemble, add_spoilt, add_uniform, repository


@pytest.fixture(scope="session")
def wrong_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The profile ``recipe-bulk``; next to the right models, copies with one fault each.

    ``postprocess_<fault>``; ``ensemble_mixes``, whose classifier mixes rows; ``ensemble_uniform``,
    whose preprocess is not ragged.
    """
    folder = tmp_path_factory.mktemp("wrong")
    root = repository(folder / "repository")
    for fault in FAULTS:
        add_spoilt(root, "postprocess", fault)
    add_ensemble(root, add_spoilt(root, "classifier", "mixes"))
    add_ensemble(root, add_uniform(root))
    with running_server(folder, "--repository", str(root), "--profile", "recipe-bulk") as running:
        yield running

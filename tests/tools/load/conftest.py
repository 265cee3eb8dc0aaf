"""One generator and one stub server for every test that leaves them as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.load_server import LoadServer, load_server
from tools.load.generator import Generator


@pytest.fixture(scope="package")
def stub() -> Iterator[LoadServer]:
    with load_server() as running:
        yield running


@pytest.fixture(scope="package")
def generator() -> Iterator[Generator]:
    with Generator() as running:
        yield running

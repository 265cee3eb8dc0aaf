"""The chain in a process of its own: what the repository's code does, it does there."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tools.validate.findings import Finding, Place
from tools.validate.rules import preprocessing as rules


def check_chain_apart(repository: Path, images: Sequence[Path], memory_bytes: int) -> list[Finding]:
    """As ``chain.check_chain``; a process that ends is a finding, and takes its memory with it."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        try:
            return pool.submit(_check, repository, images, memory_bytes).result()
        except BrokenProcessPool:
            message = "the process that ran the stages ended without a word"
            return [rules.NOT_STARTED.at(Place(repository), message)]


def _check(repository: Path, images: Sequence[Path], memory_bytes: int) -> list[Finding]:
    import numpy as np

    from tools.validate.chain import check_chain

    return list(check_chain(repository, images, np.random.default_rng(0), memory_bytes))

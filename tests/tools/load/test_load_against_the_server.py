"""The real server answers what the generator makes, in both protocols."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import SAMPLES, RunningServer
from tools.load.generator import Generator
from tools.load.loads import OpenLoop, RequestClass, Run

IMAGES = [path.read_bytes() for path in sorted(SAMPLES.glob("*.jpg"))]


@pytest.mark.server
@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_mix_is_answered_and_a_bad_image_is_not(
    generator: Generator, server: RunningServer, protocol: str
) -> None:
    mix = (
        RequestClass(IMAGES, "urgent", 0.5, priority=1, timeout_ms=5000.0),
        RequestClass(IMAGES, "several", 0.25, rows=3),
        RequestClass([b"no image"], "bad", 0.25),
    )
    load = OpenLoop(np.arange(24) / 40)
    run = Run(protocol, getattr(server, protocol), "ensemble", load, 0.6, mix, seed=1)
    samples = generator.run(run).samples
    bad = samples.kind == 2
    assert set(samples.kind) == {0, 1, 2}
    assert samples.errors() == {"invalid_input": bad.sum()}
    assert samples.served[~bad].all()

"""The limit runs what the server runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.inprocess import Arrangement, _stages, _Task
from ensemble.model_config import Deployment
from tests.conftest import SAMPLES
from tools.export import export
from tools.serve.serve import EXAMPLE_MODEL
from tools.validate.stages import last, load


def test_the_stages_of_the_limit_answer_as_those_that_are_rendered(tmp_path: Path) -> None:
    if not EXAMPLE_MODEL.exists():
        pytest.skip("the example classifier is not built")
    repository = export(Deployment(target="cpu"), EXAMPLE_MODEL, tmp_path / "out")
    image = np.fromfile(SAMPLES / "rocket.jpg", np.uint8)[None]
    answers = []
    for stages in (
        [stage for _, stage in load(repository).named()],
        _stages(_Task(Arrangement(1, 1, 1), EXAMPLE_MODEL, 1.0, ())),
    ):
        given = [image]
        for stage in stages:
            (outputs,) = stage(given)
            given = [last(outputs)]
        answers.append(outputs)
    assert answers[0].keys() == answers[1].keys()
    for name, rows in answers[0].items():
        np.testing.assert_array_equal(rows, answers[1][name])

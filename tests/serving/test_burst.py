"""A burst of 8 concurrent requests of 8 lengths forms a mean batch above 4 in every stage.

Read from the server's own statistics, ``inference_count`` over ``execution_count`` of each stage.

The server runs the profile ``recipe-bulk``: its delay of 10 ms gives a stage the time to see the
whole burst, so that the figure says what the pipeline *can* put together: lengths that differ, and
eight answers of one stage that go on as eight requests to the next. The default profile has no
delay: an idle stage takes the first request of a burst alone and the rest after it, 2 executions
and a mean of 4 at best. There batches grow out of a busy stage, not out of one burst on an idle
server; a mean above 4 would be luck.

The figure is fair in the other direction too: the watcher's own probes, one image every 2 s, count
in it as batches of 1, and nothing is left out. Other work on the machine can only tear bursts
apart, so the test has three tries; the red case can't be helped by any number of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest
import tritonclient.grpc

from ensemble.errors import CheckFailed
from ensemble.profiles import STAGES
from tests.conftest import RunningServer
from tests.serving.clients import question, statistics
from tests.serving.pictures import pictures, stack

LENGTHS = 8
BURSTS = 10
ABOVE = 4.0
ATTEMPTS = 3

Counts = dict[str, tuple[int, int]]

pytestmark = pytest.mark.server


def test_a_burst_forms_batches_in_every_stage(wrong_server: RunningServer) -> None:
    """On the right models of that server, which are those of ``tandem export``."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            check_mean_batch(count_bursts(wrong_server, "ensemble", STAGES))
            return
        except CheckFailed:
            if attempt == ATTEMPTS:
                raise


def test_without_the_ragged_flag_each_length_is_a_batch(wrong_server: RunningServer) -> None:
    """The red case: what the test above would say if ``allow_ragged_batch`` went missing."""
    stages = ("preprocess_uniform", "classifier", "postprocess")
    counted = count_bursts(wrong_server, "ensemble_uniform", stages)
    with pytest.raises(CheckFailed, match="preprocess_uniform: expected a mean batch above 4"):
        check_mean_batch(counted)
    assert counted["preprocess_uniform"] == (LENGTHS * BURSTS, LENGTHS * BURSTS)


def check_mean_batch(counted: Counts) -> None:
    """Raise CheckFailed for the first stage whose mean batch is not above 4."""
    for stage, (images, executions) in counted.items():
        if images <= ABOVE * executions:
            raise CheckFailed(
                f"{stage}: expected a mean batch above {ABOVE:g}, got {images} images in "
                f"{executions} executions"
            )


def count_bursts(server: RunningServer, model: str, stages: Sequence[str]) -> Counts:
    """Images and executions of each stage, for ten bursts on an idle server."""
    questions = [
        question(tritonclient.grpc, model, stack([image])) for image in pictures()[:LENGTHS]
    ]
    with tritonclient.grpc.InferenceServerClient(server.grpc) as client:
        _burst(client, model, questions)  # the first executions of a size are slow
        before = _settled(server, model, stages)
        for _ in range(BURSTS):
            _burst(client, model, questions)
        after = _settled(server, model, stages)
    return {
        stage: (after[stage][0] - before[stage][0], after[stage][1] - before[stage][1])
        for stage in stages
    }


def _burst(
    client: tritonclient.grpc.InferenceServerClient,
    model: str,
    questions: Sequence[tritonclient.grpc.InferInput],
) -> None:
    """All at once, from one thread: within 2 to 6 ms. Returns when all are answered."""
    errors: list[Exception] = []
    answered = threading.Semaphore(0)

    def done(result: object, error: Exception | None) -> None:
        if error is not None:
            errors.append(error)
        answered.release()

    for one in questions:
        client.async_infer(model, [one], callback=done)
    for _ in questions:
        assert answered.acquire(timeout=60)
    assert not errors


def _settled(server: RunningServer, model: str, stages: Sequence[str]) -> Counts:
    """Counters that stand still: an execution is counted a little after its answers leave."""
    last: Counts = {}
    for _ in range(50):
        rows = statistics(server)
        now = {
            name: (rows[name]["inference_count"], rows[name]["execution_count"])
            for name in (*stages, model)
        }
        if now == last:
            return now
        last = now
        time.sleep(0.05)
    raise AssertionError(f"the counters of an idle server go on counting: {last}")

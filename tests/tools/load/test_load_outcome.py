"""Each refusal has one name, whichever protocol it came by."""

from __future__ import annotations

import pytest

from tests.fakes.load_server import REFUSALS, STATUS
from tools.load.outcome import outcome_of
from tools.record.samples import OUTCOMES

REFUSED = (
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to connect"
    " to remote host: connect: Connection refused (111)"
)


@pytest.mark.parametrize(
    ("status", "text", "name"),
    [
        *((refusal.status, refusal.message, name) for name, refusal in REFUSALS.items()),
        *((str(STATUS[r.status]), r.message, name) for name, r in REFUSALS.items()),
        ("UNAVAILABLE", REFUSED, "network"),
        ("UNAVAILABLE", "Socket closed", "network"),
        ("UNAVAILABLE", "recvmsg:Connection reset by peer", "network"),
        ("UNAVAILABLE", "errors resolving x:1: [field:hostname lookup error]", "network"),
        ("UNKNOWN", "Stream removed", "network"),
        ("UNAVAILABLE", "Server is stopping, scheduler for model has stopped", "unavailable"),
        ("UNAVAILABLE", "model_unavailable: Socket closed", "unavailable"),
        ("503", "in ensemble 'e', Request timeout expired", "timed_out"),
        ("503", "", "unavailable"),
        ("429", "", "too_busy"),
        ("RESOURCE_EXHAUSTED", "", "too_busy"),
        ("RESOURCE_EXHAUSTED", "SERVER: Received message larger than max", "invalid_input"),
        ("413", "", "invalid_input"),
        ("400", "image: expected [1, -1], got [2]", "invalid_input"),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", "deadline"),
        ("504", "", "deadline"),
        ("404", "", "unavailable"),
        ("500", "Failed to allocate memory for requested buffer of size 9", "out_of_memory"),
        ("500", "std::bad_alloc", "out_of_memory"),
        ("500", "_ArrayMemoryError: Unable to allocate 9 GiB", "out_of_memory"),
        ("500", "CUBLAS_STATUS_ALLOC_FAILED", "out_of_memory"),
        ("500", "Failed to increase the shared memory pool size for key 'x'", "out_of_memory"),
        ("500", "backend_failure: MemoryError", "out_of_memory"),
        ("500", "invalid_input: no picture of 'out of memory'", "invalid_input"),
        ("500", "", "internal"),
        ("418", "a teapot", "internal"),
        ("DATA_LOSS", "x", "internal"),
    ],
)  # fmt: skip
def test_a_refusal_has_one_name(status: str, text: str, name: str) -> None:
    assert OUTCOMES[outcome_of(status, text)] == name

"""What became of a request, as an index into ``OUTCOMES``, from what its server or gRPC says."""

from __future__ import annotations

import re

from ensemble.errors import (
    BackendFailure,
    DeadlineExceeded,
    InvalidInput,
    ModelUnavailable,
    Overloaded,
    ServingError,
)
from tools.client.failures import QUEUE_FULL, QUEUE_TIMEOUT, UNCONNECTED, cause, judge
from tools.record.samples import OUTCOMES

DEADLINE = OUTCOMES.index("deadline")
CANCELLED = OUTCOMES.index("cancelled")
NETWORK = OUTCOMES.index("network")

_BY_CAUSE: dict[type[ServingError], str] = {
    InvalidInput: "invalid_input",
    Overloaded: "too_busy",
    ModelUnavailable: "unavailable",
    DeadlineExceeded: "deadline",
    BackendFailure: "internal",
}
_BY_STATUS = {"CANCELLED": "cancelled", "499": "cancelled"}  # 499: a gateway whose client left
# What CUDA, cuDNN, cuBLAS, ONNX Runtime, C++, numpy and Python's backend say without memory.
_MEMORY = re.compile(
    r"out of memory|OUT_OF_MEMORY|bad_alloc|MemoryAllocation|MemoryError|_ALLOC_FAILED|BFCArena"
    r"|cudaMalloc|(?:Failed|Unable) to allocate|Cannot allocate memory"
    r"|Failed to increase the shared memory pool size",
    re.IGNORECASE,
)
# gRPC's own words for a connection that broke; a server's UNAVAILABLE has others.
_BROKEN = re.compile(
    "|".join(map(re.escape, UNCONNECTED))
    + r"|Socket closed|Connection re(?:set|fused)|Broken pipe|recvmsg|sendmsg|GOAWAY|[Tt]ransport"
    r" closed|[Ee]ndpoint clos|keepalive|Stream removed|empty address list|unreachable|No route"
)
_BY_WORDS = (
    ("too_busy", re.compile(QUEUE_FULL)),
    ("timed_out", re.compile(QUEUE_TIMEOUT)),
    # gRPC's limit on a message, which it calls RESOURCE_EXHAUSTED; a full queue is another thing.
    ("invalid_input", re.compile(r"message larger than max")),
    ("out_of_memory", _MEMORY),
)


def outcome_of(status: str, text: str) -> int:
    """Index into ``OUTCOMES`` of a request that failed.

    Args:
        status: the name of gRPC's, such as ``UNAVAILABLE``, or HTTP's number.
        text: the message.
    """
    return OUTCOMES.index(_name(status, text))


def _name(status: str, text: str) -> str:
    label, message = cause(text)
    if label in (None, BackendFailure.label):  # another label is the server's last word
        for name, words in _BY_WORDS:
            if words.search(message):
                return name
    if status in ("UNAVAILABLE", "UNKNOWN") and label is None and _BROKEN.search(message):
        return "network"
    return _BY_STATUS.get(status) or _BY_CAUSE[judge(status, text)]

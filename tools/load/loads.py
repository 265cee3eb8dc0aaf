"""What is to be sent: the shapes that the command line, ``bench`` and the generator share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.record.samples import Floats


@dataclass(frozen=True)
class RequestClass:
    """One class of the mix.

    Attributes:
        name: of the class.
        share: of the requests; shares of all classes add up to 1.
        priority: the request's ``priority``; 0 sends none.
        timeout_ms: the request's ``timeout`` in Triton's queues; 0 sends none.
        rows: images in one request.
        images: encoded images, sent in random order.
        source: where they come from, for the record.
    """

    images: Sequence[bytes]
    name: str = "all"
    share: float = 1.0
    priority: int = 0
    timeout_ms: float = 0.0
    rows: int = 1
    source: Path | None = None


@dataclass(frozen=True)
class ClosedLoop:
    """So many callers; each sends again when it has its answer.

    Attributes:
        callers: at the same time.
    """

    callers: int


@dataclass(frozen=True)
class OpenLoop:
    """Requests that come when they are due, whatever became of the others.

    Attributes:
        due_s: ascending, seconds from the start.
    """

    due_s: Floats = field(repr=False)


@dataclass(frozen=True)
class Run:
    """One run of the generator against one model.

    Attributes:
        protocol: ``grpc`` or ``http``; for other servers than Triton's ensemble, ``post`` sends an
            image as the body of a request, and ``grpc-bytes`` as one BYTES element.
        address: host and port.
        model: that is called; for ``post`` the path.
        loop: closed or open.
        duration_s: requests are due within it; answers are waited for longer.
        mix: the classes.
        seed: of classes and images.
        timeout_s: the caller's own limit on one request.
    """

    protocol: str
    address: str
    model: str
    loop: ClosedLoop | OpenLoop
    duration_s: float
    mix: tuple[RequestClass, ...]
    seed: int = 0
    timeout_s: float = 30.0

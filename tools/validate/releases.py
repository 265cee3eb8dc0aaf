"""Which ONNX a Triton release takes.

Source: server ``docs/introduction/compatibility.md`` (26.08), table "ONNX Runtime Versions", which
begins at 24.04; earlier releases are left out. Server versions: the titles of the release pages
("Release 2.51.0 corresponding to NGC container 24.10"). The newest opset and IR version of each
ONNX Runtime were found with its own wheel, by loading a model of each number until it refused;
they agree with ``docs/Versioning.md`` of ONNX Runtime.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from ensemble.errors import ContractMismatch


@dataclass(frozen=True)
class Takes:
    """The newest ONNX that an ONNX Runtime loads; it takes every older one from opset 7 on."""

    opset: int
    ir_version: int


# Minor version of ONNX Runtime to what it takes; patch releases did not change it.
RUNTIMES: dict[str, Takes] = {
    "1.17": Takes(20, 9),
    "1.18": Takes(21, 10),
    "1.19": Takes(21, 10),
    "1.20": Takes(21, 10),
    "1.21": Takes(22, 10),
    "1.22": Takes(22, 10),
    "1.23": Takes(23, 11),
    "1.24": Takes(25, 13),
    "1.27": Takes(26, 13),
    "1.28": Takes(26, 13),
}


@dataclass(frozen=True)
class Release:
    """A Triton release.

    Attributes:
        container: NVIDIA's tag, as in ``24.10``.
        server: the server's own version, as in ``2.51.0``.
        onnxruntime: of its ``onnxruntime`` backend.
    """

    container: str
    server: str
    onnxruntime: str

    @property
    def takes(self) -> Takes:
        """The newest opset and IR version that it loads."""
        return RUNTIMES[_minor(self.onnxruntime)]

    def __str__(self) -> str:
        """``Triton 24.10 (server 2.51.0, ONNX Runtime 1.19.2)``."""
        return f"Triton {self.container} (server {self.server}, ONNX Runtime {self.onnxruntime})"


RELEASES = tuple(
    Release(*line.split())
    for line in """\
24.04 2.45.0 1.17.3
24.05 2.46.0 1.18.0
24.06 2.47.0 1.18.0
24.07 2.48.0 1.18.1
24.08 2.49.0 1.18.1
24.09 2.50.0 1.19.2
24.10 2.51.0 1.19.2
24.11 2.52.0 1.19.2
24.12 2.53.0 1.20.1
25.01 2.54.0 1.20.1
25.02 2.55.0 1.20.1
25.03 2.56.0 1.21.0
25.04 2.57.0 1.21.0
25.05 2.58.0 1.22.0
25.06 2.59.0 1.22.0
25.07 2.59.1 1.22.0
25.08 2.60.0 1.23.0
25.09 2.61.0 1.23.0
25.10 2.62.0 1.23.1
25.11 2.63.0 1.23.2
25.12 2.64.0 1.23.2
26.01 2.65.0 1.23.2
26.02 2.66.0 1.24.1
26.03 2.67.0 1.24.2
26.04 2.68.0 1.24.4
26.05 2.69.0 1.24.4
26.06 2.70.0 1.24.4
26.07 2.71.0 1.27.0
26.08 2.72.0 1.28.0
""".splitlines()
)


DEFAULT_RELEASE = "24.10"
"""What the container of this project is built from."""


def release(text: str) -> Release:
    """The release of a container tag or a server version.

    Args:
        text: ``24.10``, ``24.10-py3``, ``2.51``, ``2.51.0`` or ``v2.51.0``.

    Raises:
        ContractMismatch: unknown; the message lists the nearest and the range.
    """
    wanted = re.sub(r"^v|-py3$", "", text.strip())
    for one in RELEASES:
        if wanted in (one.container, one.server) or f"{wanted}.0" == one.server:
            return one
    known = [name for one in RELEASES for name in (one.container, one.server)]
    near = ", ".join(difflib.get_close_matches(wanted, known, n=3, cutoff=0.5))
    raise ContractMismatch(
        f"Triton {text!r}: expected a container or server version from {RELEASES[0].container} "
        f"({RELEASES[0].server}) to {RELEASES[-1].container} ({RELEASES[-1].server})"
        + (f"; nearest: {near}" if near else "")
    )


def takes(onnxruntime: str) -> Takes | None:
    """What an ONNX Runtime version takes; None where that is not known."""
    return RUNTIMES.get(_minor(onnxruntime))


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def installed() -> Release:
    """The first release that takes what the ONNX Runtime installed here takes, or the newest.

    The CPU target hosts that one in the Python backend, whatever the server's release.
    """
    import onnxruntime

    here = takes(onnxruntime.__version__)
    return next((one for one in RELEASES if one.takes == here), RELEASES[-1])

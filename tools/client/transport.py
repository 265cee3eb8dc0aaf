"""Encoded images to a running Triton and answers back, over gRPC or HTTP.

Everything else speaks to ``Transport``, so that tests put a function in place of a network.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ensemble.errors import BackendFailure, ServingError
from ensemble.tensors import IMAGE, answers
from tools.client.address import host_port
from tools.client.failures import Server, translate

MODEL = "ensemble"
CHANNEL = (("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", -1))
"""As HTTP has it: straight to the server, whatever http_proxy says, and answers of any length."""
LIVE_TIMEOUT_S = 2.0
"""How long a server may take to say that it lives, once a request has timed out."""


@dataclass(frozen=True)
class Answer:
    """The best classes of one image, best first; three tuples of one length.

    Attributes:
        class_ids: the numbers of the classes.
        scores: their probabilities, 0 to 1.
        labels: their names.
    """

    class_ids: tuple[int, ...]
    scores: tuple[float, ...]
    labels: tuple[str, ...]


class Transport(Protocol):
    """A way to the server."""

    def classify(self, images: list[bytes]) -> list[Answer]:
        """One answer an image, same order. All images go in one request.

        Raises:
            ServingError: why not, for the whole request.
        """


class _TritonTransport(ABC):
    """What both protocols share: packing, unpacking and the translation of errors."""

    _triton: Any
    _server: Server

    def classify(self, images: list[bytes]) -> list[Answer]:
        """See ``Transport``."""
        if not images:
            return []
        try:
            return _answers(self._infer(_image_input(self._triton, images)), len(images))
        except ServingError:
            raise
        except Exception as error:
            raise translate(error, self._server) from error

    @abstractmethod
    def _infer(self, image: Any) -> Any:
        """One request, and tritonclient's result."""

    @abstractmethod
    def close(self) -> None:
        """Hang up."""


class GrpcTransport(_TritonTransport):
    """One gRPC channel, which any number of threads may use.

    Args:
        url: ``host:port``, with or without a scheme; None is this machine and Triton's port.
        timeout_s: from sending a request to its answer.
    """

    def __init__(self, url: str | None = None, timeout_s: float = 30.0) -> None:
        import tritonclient.grpc  # here, since whoever uses HTTP does not need it

        self._triton = tritonclient.grpc
        address = host_port("grpc", url)
        self._client = self._triton.InferenceServerClient(address, channel_args=CHANNEL)
        self._server = Server(f"{address} (gRPC)", timeout_s, self._alive)

    def _infer(self, image: Any) -> Any:
        return self._client.infer(MODEL, [image], client_timeout=self._server.timeout_s)

    def _alive(self) -> bool:
        return _is_yes(lambda: self._client.is_server_live(client_timeout=LIVE_TIMEOUT_S))

    def close(self) -> None:
        """Give up what is in flight and hang up."""
        self._client.close()


class HttpTransport(_TritonTransport):
    """One HTTP connection for each thread that calls, since gevent's client is bound to one.

    Args:
        url: ``host:port``, with or without a scheme and a base path; None is this machine and
            Triton's port.
        timeout_s: to connect, and again for every pause in the answer.
    """

    def __init__(self, url: str | None = None, timeout_s: float = 30.0) -> None:
        import tritonclient.http  # here, since whoever uses gRPC does not need it

        self._triton = tritonclient.http
        self._address = host_port("http", url)
        self._server = Server(f"{self._address} (HTTP)", timeout_s, self._alive)
        self._of_this_thread = threading.local()

    def _infer(self, image: Any) -> Any:
        if not hasattr(self._of_this_thread, "client"):
            self._of_this_thread.client = self._connect(self._server.timeout_s)
        return self._of_this_thread.client.infer(MODEL, [image])

    def _connect(self, timeout_s: float) -> Any:
        return self._triton.InferenceServerClient(
            self._address, connection_timeout=timeout_s, network_timeout=timeout_s
        )

    def _alive(self) -> bool:
        client = self._connect(LIVE_TIMEOUT_S)
        try:
            return _is_yes(client.is_server_live)
        finally:
            client.close()

    def close(self) -> None:
        """Hang up in this thread; the connection of another closes when that thread ends."""
        client = self._of_this_thread.__dict__.pop("client", None)
        if client is not None:
            client.close()


PROTOCOLS = {"grpc": GrpcTransport, "http": HttpTransport}


@contextmanager
def connected(protocol: str, url: str | None, timeout_s: float) -> Iterator[Transport]:
    """The transport for a protocol, hung up at the end.

    Args:
        protocol: ``grpc`` or ``http``.
        url: see ``GrpcTransport`` and ``HttpTransport``.
        timeout_s: for each request.

    Raises:
        ContractMismatch: a URL that means nothing, or asks for TLS.
    """
    transport = PROTOCOLS[protocol](url, timeout_s)
    try:
        yield transport
    finally:
        transport.close()


def padded(images: list[bytes]) -> npt.NDArray[np.uint8]:
    """IMAGE, ``(n, L) uint8``: each row filled up with zeros to the longest image."""
    rows = np.zeros((len(images), max(map(len, images))), np.uint8)
    for row, image in zip(rows, images, strict=True):
        row[: len(image)] = np.frombuffer(image, np.uint8)
    return rows


def _image_input(triton: Any, images: list[bytes]) -> Any:
    rows = padded(images)
    image = triton.InferInput(IMAGE.name, list(rows.shape), IMAGE.data_type.removeprefix("TYPE_"))
    return image.set_data_from_numpy(rows)


def _answers(result: Any, count: int) -> list[Answer]:
    names = [spec.name for spec in answers(1)]
    arrays = [result.as_numpy(name) for name in names]
    shapes = {array.shape if array is not None else None for array in arrays}
    shape = shapes.pop()
    if shapes or shape is None or len(shape) != 2 or shape[0] != count:
        got = [array.shape if array is not None else "nothing" for array in arrays]
        raise BackendFailure(f"{', '.join(names)}: expected ({count}, k) of each, got {got}")
    class_ids, scores, labels = (array.tolist() for array in arrays)
    return [
        Answer(tuple(class_ids[n]), tuple(scores[n]), tuple(map(_text, labels[n])))
        for n in range(count)
    ]


def _text(label: bytes | str) -> str:
    return label if isinstance(label, str) else label.decode("utf-8", "replace")


def _is_yes(question: Callable[[], Any]) -> bool:
    try:
        return bool(question())
    except Exception:  # whatever went wrong, it is not a yes
        return False

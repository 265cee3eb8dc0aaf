"""Requests over one gRPC connection, answers by callback."""

from __future__ import annotations

from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

import grpc

from tools.client.transport import CHANNEL
from tools.load.engine import Row
from tools.load.outcome import outcome_of
from tools.load.requests import Payload
from tools.record.samples import OK

INFER = "/inference.GRPCInferenceService/ModelInfer"
CONNECT_S = 5.0
"""How long a run waits for its connection before it begins without."""
_OPTIONS = (
    *CHANNEL,
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own, new for each run
    ("grpc.initial_reconnect_backoff_ms", 100),  # a server that comes back is found soon
    ("grpc.max_reconnect_backoff_ms", 1000),
)


class GrpcSender:
    """One channel.

    Args:
        address: host and port.
        model: not looked at: the message has it.
        timeout_s: of each request.
    """

    def __init__(self, address: str, model: str, timeout_s: float) -> None:
        self._channel = grpc.insecure_channel(address, options=_OPTIONS)
        self._infer = self._channel.unary_unary(INFER).future
        self._timeout_s = timeout_s
        _connect(self._channel, min(CONNECT_S, timeout_s))

    def send(self, payload: Payload, row: Row) -> None:
        """See ``Sender``; most of the message is on its way when this returns."""
        row.handed()
        call = self._infer(payload, timeout=self._timeout_s)
        call.add_done_callback(partial(_finish, row))

    def close(self) -> None:
        """See ``Sender``."""
        self._channel.close()


def _finish(row: Row, call: Any) -> None:
    code = call.code()
    if code is grpc.StatusCode.OK:
        row.finish(OK)
    else:
        row.finish(outcome_of(code.name, call.details() or ""))


def _connect(channel: Any, timeout_s: float) -> None:
    """Wait until the channel is ready, or failed, or long enough."""
    states: SimpleQueue[Any] = SimpleQueue()
    channel.subscribe(states.put, try_to_connect=True)
    until_s = monotonic() + timeout_s
    settled = (grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.TRANSIENT_FAILURE)
    try:
        while states.get(timeout=max(0.0, until_s - monotonic())) not in settled:
            pass
    except Empty:
        return  # each request will say why
    finally:
        channel.unsubscribe(states.put)

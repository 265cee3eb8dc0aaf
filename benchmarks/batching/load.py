"""A light gRPC client: open loop on a given schedule, closed loop, and what came of each request.

Latency counts from the scheduled send time, so that a late client can't hide a queue.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import grpc
import numpy as np
import numpy.typing as npt
from tritonclient.grpc import service_pb2

from ensemble.errors import BackendFailure

Floats = npt.NDArray[np.float64]
_INFER = "/inference.GRPCInferenceService/ModelInfer"


@dataclass(frozen=True)
class Call:
    """One kind of request.

    Attributes:
        model: the model to call.
        priority: the request's ``priority`` parameter; 0 sends none.
        name: the request's id.
    """

    model: str
    priority: int = 0
    name: str = ""

    def to_bytes(self) -> bytes:
        """The message, encoded once and sent often."""
        request = service_pb2.ModelInferRequest(model_name=self.model, id=self.name)
        tensor = request.inputs.add(datatype="UINT8", shape=[1, 1])
        # Each stage takes one tensor; a variant of one stage is always the classifier.
        tensor.name = "PIXELS" if self.model.endswith("-classifier") else "IMAGE"
        request.raw_input_contents.append(b"\0")
        if self.priority:
            request.parameters["priority"].uint64_param = self.priority
        return bytes(request.SerializeToString())


@dataclass
class Outcome:
    """Every request of one run; times in seconds since its start.

    Attributes:
        due_s: when it should be sent.
        sent_s: when it was.
        done_s: when the answer or the refusal came.
        served: whether it was an answer.
    """

    due_s: list[float] = field(default_factory=list)
    sent_s: list[float] = field(default_factory=list)
    done_s: list[float] = field(default_factory=list)
    served: list[bool] = field(default_factory=list)

    def latencies_ms(self, after_s: float = 0.0) -> Floats:
        """Of those served and due after ``after_s``."""
        due, done = np.array(self.due_s), np.array(self.done_s)
        latencies: Floats = (done - due)[np.array(self.served) & (due >= after_s)] * 1e3
        return latencies


class Client:
    """One connection, used from one event loop."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address)
        self._infer = self._channel.unary_unary(_INFER)

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()

    async def send(self, call: Call | bytes, due_s: float, start_s: float, into: Outcome) -> None:
        """Send now and write down what came.

        Raises:
            BackendFailure: the server failed in another way than refusing.
        """
        payload = call if isinstance(call, bytes) else call.to_bytes()
        sent_s = time.monotonic() - start_s
        try:
            await self._infer(payload)
            served = True
        except grpc.aio.AioRpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise BackendFailure(f"{error.code()}: {error.details()}") from error
            served = False
        into.due_s.append(due_s)
        into.sent_s.append(sent_s)
        into.done_s.append(time.monotonic() - start_s)
        into.served.append(served)


def open_loop(address: str, calls: list[Call], due_s: Floats) -> list[Outcome]:
    """Send each request when it is due, whatever became of the others.

    Args:
        address: host and port of gRPC.
        calls: one for each request, or one for all.
        due_s: ascending, seconds from now.

    Returns:
        One outcome for each distinct call, in their order of first appearance.
    """
    kinds = list(dict.fromkeys(calls))
    outcomes = {kind: Outcome() for kind in kinds}
    payloads = {kind: kind.to_bytes() for kind in kinds}

    async def run() -> None:
        client = Client(address)
        tasks = []
        start_s = time.monotonic()
        for number, due in enumerate(due_s):
            call = calls[number % len(calls)]
            wait_s = start_s + due - time.monotonic()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            sending = client.send(payloads[call], float(due), start_s, outcomes[call])
            tasks.append(asyncio.ensure_future(sending))
        await asyncio.gather(*tasks)
        await client.close()

    asyncio.run(run())
    return [outcomes[kind] for kind in kinds]


def closed_loop(address: str, model: str, clients: int, duration_s: float) -> Outcome:
    """``clients`` callers that each send again as soon as they have an answer."""
    outcome = Outcome()
    payload = Call(model).to_bytes()

    async def caller(client: Client, start_s: float) -> None:
        while (now_s := time.monotonic() - start_s) < duration_s:
            await client.send(payload, now_s, start_s, outcome)

    async def run() -> None:
        client = Client(address)
        start_s = time.monotonic()
        await asyncio.gather(*(caller(client, start_s) for _ in range(clients)))
        await client.close()

    asyncio.run(run())
    return outcome


def poisson_s(rate_per_s: float, duration_s: float, random: np.random.Generator) -> Floats:
    """Arrival times of independent callers within ``duration_s``."""
    mean = rate_per_s * duration_s
    gaps = random.exponential(1 / rate_per_s, int(mean + 6 * mean**0.5 + 10))
    times: Floats = np.cumsum(gaps)
    return times[: int(np.searchsorted(times, duration_s))]

"""Requests over HTTP/1.1, as many connections as there are requests in flight, kept and reused."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable
from typing import Any

import aiohttp

from tools.load.engine import Row
from tools.load.outcome import CANCELLED, DEADLINE, NETWORK, outcome_of
from tools.load.requests import Payload
from tools.record.samples import OK


class HttpSender:
    """An event loop in a thread of its own.

    Args:
        address: host and port, and a base path where there is one.
        model: that is called.
        timeout_s: of each request, connecting included.
        path: of the request, with the model's name to fill in.
    """

    def __init__(
        self, address: str, model: str, timeout_s: float, path: str = "v2/models/{}/infer"
    ) -> None:
        self._url = f"http://{address}/{path.format(model)}"
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._session: aiohttp.ClientSession = self._wait_for(_session(timeout_s))

    def send(self, payload: Payload, row: Row) -> None:
        """See ``Sender``."""
        self._loop.call_soon_threadsafe(self._begin, payload, row)

    def close(self) -> None:
        """See ``Sender``."""
        self._wait_for(self._hang_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait_for(self, work: Awaitable[Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()  # type: ignore[arg-type]

    async def _hang_up(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    def _begin(self, payload: Payload, row: Row) -> None:
        task = self._loop.create_task(self._ask(payload, row))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, payload: Any, row: Row) -> None:
        row.handed()
        try:
            row.finish(await self._answer(payload))
        except asyncio.TimeoutError:  # not the built-in one on Python 3.10
            row.finish(DEADLINE)
        except (aiohttp.ClientError, OSError):
            row.finish(NETWORK)
        except asyncio.CancelledError:
            row.finish(CANCELLED)
            raise

    async def _answer(self, payload: Any) -> int:
        async with self._session.post(
            self._url, data=payload.body, headers=payload.headers, allow_redirects=False
        ) as answer:
            said = await answer.read()
        if answer.status == 200:
            return OK
        return outcome_of(str(answer.status), _message(said))


def _message(said: bytes) -> str:
    """Triton's words, or all there are where the answer is not Triton's."""
    try:
        return str(json.loads(said)["error"])
    except (ValueError, LookupError, TypeError):
        return said.decode("utf-8", "replace")


async def _session(timeout_s: float) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        skip_auto_headers=["Accept-Encoding"],  # else Triton compresses its answers
    )

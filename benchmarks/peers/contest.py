"""Servers side by side: started, checked, warmed up, and measured in turn, the others frozen."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.peers.answers import Unanswered, ask, compared
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.install import NotInstalled, ensure, versions
from benchmarks.peers.measure import measure
from benchmarks.peers.plan import PhotographSet, turns
from benchmarks.peers.running import NotStarted, Server, running
from tools.load.generator import Generator

Json = dict[str, Any]
IDLE_S = 3.0
THAW_S = 0.2
ATTEMPTS = 2
WARM_UP_S = 1.5


class Wrong(Exception):
    """A server that finds other classes than the first one."""


def say(text: str) -> None:
    """To those who wait."""
    print(text, file=sys.stderr, flush=True)


@dataclass
class Contest:
    """Those that run.

    Attributes:
        sets: of photographs.
        generator: of the load.
        servers: frozen but for the one that is measured; the first says what is right.
        facts: of each peer by name, also of those that do not run.
    """

    sets: Sequence[PhotographSet]
    generator: Generator
    servers: list[Server] = field(default_factory=list)
    facts: Json = field(default_factory=dict)
    _right: list[list[int]] = field(default_factory=list)

    def enter(self, stack: ExitStack, peer: Peer) -> None:
        """Start a peer until ``stack`` ends; one that can't be measured is left out, with why."""
        say(f"starting {peer.title}")
        fact: Json = {"title": peer.title, "batches": peer.batches, "protocol": peer.protocol}
        self.facts[peer.name] = fact
        fact["settings"] = dict(peer.settings)
        with ExitStack() as own:
            try:
                ensure(peer)
                fact["versions"] = versions(peer)
                server = self._started(own, peer, fact)
                self._check(server, fact)
            except (NotInstalled, NotStarted, Unanswered, Wrong) as error:
                say(f"{peer.title} is left out: {error}")
                fact["left_out"] = str(error)
                return
            self._warm_up(server, fact)
            server.freeze()
            self.servers.append(server)
            stack.push(own.pop_all())

    def _started(self, own: ExitStack, peer: Peer, fact: Json) -> Server:
        for attempt in range(ATTEMPTS):
            start_s = time.monotonic()
            try:
                server = own.enter_context(running(peer, self.sets[0].photographs()[0]))
            except NotStarted:
                if attempt + 1 == ATTEMPTS:
                    raise
            else:
                fact["start_s"] = round(time.monotonic() - start_s, 1)
                break
        return server

    def _check(self, server: Server, fact: Json) -> None:
        """Every photograph's class."""
        sent = [one for photographs in self.sets for one in photographs.photographs()]
        got = [ask(server.peer, server.address, one) for one in sent]
        self._right = self._right or got
        fact["same_class"], wrong = compared(got, self._right)
        fact["photographs"] = len(got)
        if wrong:
            raise Wrong(f"other classes than the first server's for the photographs {wrong}")

    def _warm_up(self, server: Server, fact: Json) -> None:
        """What it needs, fresh: for one caller, at rest, and in memory when it has worked."""
        photographs, callers = self.sets[0].photographs(), self.sets[0].callers
        for count in (1, *callers):
            found = measure(self.generator, server, photographs, count, WARM_UP_S)
            if count == 1:
                fact["fresh_p50_ms"] = found.p50_ms
        before_s = server.cpu_s()
        time.sleep(IDLE_S)
        fact["idle_cores"] = round((server.cpu_s() - before_s) / IDLE_S, 3)
        fact["resident_bytes"] = server.resident_bytes()

    def round(self, number: int, photographs: PhotographSet) -> list[Json]:
        """All servers that are measured on a set, at each of its loads."""
        servers = [one for one in self.servers if photographs.name in one.peer.sets]
        rows = []
        for server, callers in turns(servers, photographs.callers, number):
            with _thawed(server):
                found = measure(
                    self.generator,
                    server,
                    photographs.photographs(),
                    callers,
                    photographs.window_s,
                )
            rows.append(
                {"set": photographs.name, "round": number, "peer": server.peer.name} | asdict(found)
            )
            say(
                f"round {number + 1}, {photographs.name}, {server.peer.title}, {callers} callers: "
                f"{found.images_per_s:.0f} images/s, p95 {found.p95_ms or float('nan'):.0f} ms"
            )
        return rows


@contextmanager
def _thawed(server: Server) -> Iterator[None]:
    server.thaw()
    time.sleep(THAW_S)
    try:
        yield
    finally:
        server.freeze()

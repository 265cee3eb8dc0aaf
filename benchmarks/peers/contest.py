"""Servers side by side: started, checked, warmed up, and measured in turn, the others frozen."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field

from benchmarks.peers.answers import Unanswered, ask, compared
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.install import NotInstalled, ensure, versions
from benchmarks.peers.measure import measure
from benchmarks.peers.plan import PhotographSet, turns
from benchmarks.peers.running import NotStarted, Server, running
from benchmarks.peers.sustained import Json
from tools.load.generator import Generator

IDLE_S = 2.0
THAW_S = 0.2
WARM_UP_S = 1.5


class Wrong(Exception):
    """A server that finds other classes than the first one."""


def say(text: str) -> None:
    """To those who wait."""
    print(text, file=sys.stderr, flush=True)


@dataclass
class Contest:
    """Those that run; all end when it is left.

    Attributes:
        sets: of photographs.
        generator: of the load.
        servers: by name of the peer, frozen but for the one that is measured; the first says what
            is right.
        facts: of each peer by name, also of those that do not run.
    """

    sets: Sequence[PhotographSet]
    generator: Generator
    servers: dict[str, Server] = field(default_factory=dict)
    facts: Json = field(default_factory=dict)
    _ends: dict[str, ExitStack] = field(default_factory=dict)
    _right: list[list[int]] = field(default_factory=list)

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *error: object) -> None:
        with ExitStack() as stack:
            for end in self._ends.values():
                stack.push(end)

    def enter(self, peer: Peer) -> None:
        """Start a peer, check its answers and warm it up; one that fails is left out, with why."""
        fact: Json = {"title": peer.title, "batches": peer.batches, "protocol": peer.protocol}
        self.facts[peer.name] = fact
        fact["settings"] = dict(peer.settings)
        with self._left_out_if_it_fails(peer):
            ensure(peer)
            fact["versions"] = versions(peer)
            start_s = time.monotonic()
            server = self._started(peer)
            fact["start_s"] = round(time.monotonic() - start_s, 1)
            self._check(server, fact)
            self._warm_up(server, fact)
            server.freeze()

    @contextmanager
    def _left_out_if_it_fails(self, peer: Peer) -> Iterator[None]:
        try:
            yield
        except (NotInstalled, NotStarted, Unanswered, Wrong) as error:
            say(f"{peer.title} is left out: {error}")
            self.facts[peer.name]["left_out"] = str(error)
            self._end(peer)

    def _started(self, peer: Peer) -> Server:
        """Running, in the place of one that ran before."""
        self._end(peer)
        say(f"starting {peer.title}")
        own, photograph = ExitStack(), self.sets[0].photographs()[0]
        try:
            server = own.enter_context(running(peer, photograph))
        except NotStarted:  # Ray gives up on itself after 30 s, which a busy machine takes
            server = own.enter_context(running(peer, photograph))
        self.servers[peer.name], self._ends[peer.name] = server, own
        return server

    def _end(self, peer: Peer) -> None:
        self.servers.pop(peer.name, None)
        self._ends.pop(peer.name, ExitStack()).close()

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
        """And what it takes: fresh for one caller, then at rest."""
        photographs = self.sets[0]
        for callers in (1, photographs.callers[-1]):
            found = measure(self.generator, server, photographs.photographs(), callers, WARM_UP_S)
            fact.setdefault("fresh_p50_ms", found.p50_ms)
        before_s = server.cpu_s()
        time.sleep(IDLE_S)
        fact["idle_cores"] = round((server.cpu_s() - before_s) / IDLE_S, 3)
        fact["resident_bytes"] = server.resident_bytes()

    def _renew(self) -> None:
        """Start those anew that remember past loads, and warm them up with one caller."""
        for peer in [server.peer for server in self.servers.values() if server.peer.remembers]:
            with self._left_out_if_it_fails(peer):
                server = self._started(peer)
                measure(self.generator, server, self.sets[0].photographs(), 1, WARM_UP_S)
                server.freeze()

    def round(self, number: int, photographs: PhotographSet) -> list[Json]:
        """All servers that are measured on a set, at each of its loads."""
        self._renew()
        all_of_them = [self.servers[name] for name in self.facts if name in self.servers]
        servers = [one for one in all_of_them if photographs.name in one.peer.sets]
        rows = []
        for server, callers in turns(servers, photographs.callers, number):
            sent = photographs.photographs()
            with _thawed(server):
                found = measure(self.generator, server, sent, callers, photographs.window_s)
            row = {"set": photographs.name, "round": number, "peer": server.peer.name}
            rows.append(row | asdict(found))
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

"""Arrivals in Triton's trace files: one for each request that a client sent.

A file is a JSON array of objects, those of one trace one after another: its name and parent, and
its timestamps, nanoseconds of the steady clock. With ``log-frequency`` the file is in pieces:
FILE.0, FILE.1, …; ``serve --record-arrivals`` has FILE.<run>.<piece>. Source: Triton's user guide,
trace, and src/tracer.cc.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from ensemble.errors import ContractMismatch
from tools.arrivals.files import opened
from tools.arrivals.stamps import Progress, Stamps
from tools.serve.health import PROBE_ID

ARRIVED = ("HTTP_RECV_START", "GRPC_WAITREAD_END", "REQUEST_START")
"""What tells an arrival, best first. GRPC_WAITREAD_START is when the server began to wait."""
REBOOT_S = 600.0
"""The steady clock is the machine's: going back by so much, it began again."""
_RESOLUTION_S = 1e-9
_CHUNK = 1 << 20
_BETWEEN = re.compile(r"[\s,\[\]]*")
_NEXT = '{"id":'


@dataclass
class _Root:
    """What was read of the trace that is being read."""

    number: object = field(default_factory=object)
    model: str | None = None
    is_child: bool = False
    is_probe: bool = False
    stamps_ns: dict[str, int] = field(default_factory=dict)

    @property
    def arrived_s(self) -> float | None:
        """None where the trace does not tell."""
        known = (self.stamps_ns[name] for name in ARRIVED if name in self.stamps_ns)
        ns = next(known, None)
        return None if ns is None else ns / 1e9


@dataclass
class _Requests:
    """Arrivals by the model that was called, and what was not one."""

    times_s: dict[str, array[float]] = field(default_factory=dict)
    latest_s: float = 0.0
    probes: int = 0
    incomplete: int = 0
    unreadable: int = 0
    reboots: int = 0
    deleted: int = 0

    def read(self, objects: Iterable[object]) -> None:
        """One file's."""
        root = _Root()
        for one in objects:
            if not isinstance(one, dict):
                self.unreadable += 1
                continue
            if one.get("id") != root.number:
                self._add(root)
                root = _Root(one.get("id"))
            _take(root, one)
        self._add(root)

    def _add(self, root: _Root) -> None:
        if root.is_child or (root.model is None and not root.stamps_ns):
            return
        arrived_s = root.arrived_s
        if root.model is None or arrived_s is None:
            self.incomplete += 1
        elif root.is_probe:
            self.probes += 1
        else:
            self._arrive(root.model, arrived_s)

    def _arrive(self, model: str, arrived_s: float) -> None:
        if arrived_s < self.latest_s - REBOOT_S:
            self.times_s.clear()
            self.reboots += 1
            self.latest_s = arrived_s
        self.latest_s = max(self.latest_s, arrived_s)
        self.times_s.setdefault(model, array("d")).append(arrived_s)


def _take(root: _Root, fields: dict[str, Any]) -> None:
    if "model_name" in fields:
        root.model = str(fields["model_name"])
        root.is_child = "parent_id" in fields
        root.is_probe = fields.get("request_id") == PROBE_ID
    stamps = fields.get("timestamps")
    for stamp in stamps if isinstance(stamps, list) else ():
        if isinstance(stamp, dict) and isinstance(stamp.get("ns"), int):
            root.stamps_ns[str(stamp.get("name"))] = stamp["ns"]


def read(files: Sequence[Path], model: str | None, progress: Progress) -> Stamps:
    """Arrivals at one model.

    Args:
        files: each with all its pieces.
        model: its name; None: the one that was called most.
        progress: takes the bytes read.

    Raises:
        ContractMismatch: there is no such file, or no such arrival in them.
        OSError: one can't be read.
    """
    requests = _Requests()
    names = ", ".join(path.name for path in files)
    for path in pieces(files):
        try:
            with opened(path, progress) as text:
                requests.read(objects(text))
        except FileNotFoundError:
            requests.deleted += 1
    counts = {name: len(times_s) for name, times_s in requests.times_s.items()}
    chosen = model or max(counts, key=counts.__getitem__, default=None)
    if chosen is None or chosen not in counts:
        raise ContractMismatch(
            f"{names}: expected Triton's trace of requests{f' to {model}' if model else ''}, got "
            f"{_listed(counts) or 'none'}; {requests.unreadable} parts were no JSON"
        )
    others = {name: count for name, count in counts.items() if name != chosen}
    source = f"trace {names}, requests to {chosen!r:.80}"
    remarks = tuple(_remarks(requests, others))
    return Stamps(requests.times_s[chosen], _RESOLUTION_S, source, remarks)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} to {name!r:.80}" for name, count in sorted(counts.items())[:5])


def _remarks(requests: _Requests, others: dict[str, int]) -> Iterator[str]:
    if requests.probes:
        yield f"{requests.probes} probes of tandem left out"
    if others:
        yield f"requests to other models left out: {_listed(others)} (--model)"
    if requests.reboots:
        yield "the machine's clock began again; only what came after is used"
    if requests.deleted:
        yield f"{requests.deleted} pieces were deleted before they could be read"
    if requests.incomplete:
        yield f"{requests.incomplete} traces without a model or an arrival"
    if requests.unreadable:
        yield f"{requests.unreadable} parts that are no JSON, such as a file cut off"


def pieces(files: Sequence[Path]) -> list[Path]:
    """The files themselves and their pieces, each once, in the order in which they were written.

    Raises:
        ContractMismatch: there is neither.
    """
    found: dict[Path, None] = {}
    for path in files:
        name = re.compile(re.escape(path.name) + r"((?:\.\d+)*)")
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        numbered = [
            ([int(number) for number in match[1].split(".")[1:]], one)
            for one in beside
            if (match := name.fullmatch(one.name)) and one.is_file()
        ]
        if not numbered:
            raise ContractMismatch(f"{path}: expected a trace file, or {path.name}.0; got neither")
        found |= dict.fromkeys(one for _, one in sorted(numbered))
    return list(found)


def objects(text: TextIO) -> Iterator[object]:
    """Every object of an array, or of what is left of one; None for a part that is no JSON."""
    decode = json.JSONDecoder().raw_decode
    rest, more = "", True
    while more:
        chunk = text.read(_CHUNK)
        rest, more, place = rest + chunk, bool(chunk), 0
        while (place := _after(_BETWEEN, rest, place)) < len(rest):
            try:
                found, place = decode(rest, place)
            except (ValueError, RecursionError):
                if more and len(rest) - place < _CHUNK:
                    break  # the next chunk may complete it
                found = None
                following = rest.find(_NEXT, place + 1)
                place = following if following >= 0 else len(rest)
            yield found
        rest = rest[place:]


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place

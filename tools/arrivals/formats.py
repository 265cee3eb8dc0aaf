"""Where a line of an access log has its time and its path."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?")
_BRACKETS = re.compile(
    r"\[(\d\d/[A-Z][a-z]{2}/\d{4}):(\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?: ([+-]\d{4}))?\]"
)
_EPOCH = re.compile(r"(?<![\w.])(1\d{9})(\.\d{1,6})(?![\w.])")
_PATTERNS = (_ISO, _BRACKETS, _EPOCH)
_QUOTED = re.compile(r'"[^"]*"')
_REQUEST = re.compile(r'"[A-Z]+ (\S+)')
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"

START_FIELDS = ("start_time", "StartUTC")
"""When a request came: Envoy's and Traefik's."""
OTHER_FIELDS = ("msec", "@timestamp", "timestamp", "time", "ts", "time_iso8601", "time_local")
"""When a request came or was answered, as the server or the user will have it."""
DURATION_FIELDS = ("request_time", "duration")
"""Seconds from its coming to its end: nginx's and Caddy's, which stamp the end."""
PATH_FIELDS = ("path", "uri", "request_uri", "RequestPath", "url", "request")
AS_LOGGED = (
    "times are as logged: where a server logs the end of a request (nginx), answers of one batch "
    "look like a group"
)


@dataclass(frozen=True)
class Format(ABC):
    """A way to read a line.

    Attributes:
        resolution_s: one step of the clock that stamped the lines.
    """

    resolution_s: float = 1.0

    def stamped_to(self, resolution_s: float) -> Format:
        """The same with another clock."""
        return replace(self, resolution_s=resolution_s)

    @abstractmethod
    def time_s(self, line: str) -> float | None:
        """Since the epoch; None: no time in it."""

    @abstractmethod
    def path(self, line: str) -> str | None:
        """Of the request, without what follows ``?``; None: none in it."""

    @property
    def remark(self) -> str | None:
        """What a reader must know."""
        if self.resolution_s >= 1:
            return "stamps are whole seconds: what happens within a second is not in the log"
        return AS_LOGGED


@dataclass(frozen=True)
class Text(Format):
    """A time somewhere in the line.

    Attributes:
        pattern: finds it.
        in_quotes: look inside double quotes too, where clients write what they like.
    """

    pattern: re.Pattern[str] = _ISO
    in_quotes: bool = False

    def time_s(self, line: str) -> float | None:
        """See ``Format``."""
        found = self.pattern.search(line if self.in_quotes else _QUOTED.sub('""', line))
        if found is None:
            return None
        if self.pattern is _EPOCH:
            return float(found[0])
        whole_s = _seconds(self.pattern is _BRACKETS, found[1], found[2], found[4])
        return None if whole_s is None else whole_s + float(f"0.{found[3] or 0}")

    def path(self, line: str) -> str | None:
        """See ``Format``."""
        found = _REQUEST.search(line)
        return None if found is None else _without_query(found[1])


@dataclass(frozen=True)
class Json(Format):
    """JSON lines.

    Attributes:
        field: that has the time; dots lead into objects.
        duration: the field that has the seconds from the request's coming to that time; "": none.
    """

    field: str = ""
    duration: str = ""

    def time_s(self, line: str) -> float | None:
        """See ``Format``."""
        fields = _fields(line)
        time_s = _number_or_date_s(_get(fields, self.field))
        if time_s is None or not self.duration:
            return time_s
        duration_s = _duration_s(_get(fields, self.duration))
        if duration_s is None or self.resolution_s >= 1:  # whole seconds stay whole
            return None if duration_s is None else time_s
        return time_s - duration_s

    def path(self, line: str) -> str | None:
        """See ``Format``."""
        fields = _fields(line)
        for name in PATH_FIELDS:
            value = fields.get(name)
            if isinstance(value, dict):
                value = value.get("uri")
            if isinstance(value, str):
                return _without_query(value.split(" ")[1] if " " in value else value)
        return None

    @property
    def remark(self) -> str | None:
        """See ``Format``."""
        if self.field in START_FIELDS:
            return None
        if self.duration and self.resolution_s < 1:
            return f"{self.duration} was taken off the logged time"
        return super().remark


def candidates(time_field: str | None, in_quotes: bool) -> Iterator[Format]:
    """Formats to try, those that tell most first.

    Args:
        time_field: of JSON lines; then nothing else is tried.
        in_quotes: look there, where clients write what they like, and nowhere else.
    """
    if in_quotes:
        yield from (Text(pattern=one, in_quotes=True) for one in _PATTERNS)
        return
    if time_field is None:
        yield from (Json(field=name) for name in START_FIELDS)
    for name in OTHER_FIELDS if time_field is None else (time_field,):
        yield from (Json(field=name, duration=duration) for duration in (*DURATION_FIELDS, ""))
    if time_field is None:
        yield from (Text(pattern=one) for one in _PATTERNS)


def _fields(line: str) -> dict[str, Any]:
    if not line.startswith("{"):
        return {}
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _get(fields: Any, name: str) -> object:
    if isinstance(fields, dict) and name in fields:
        return fields[name]
    head, dot, tail = name.partition(".")
    return _get(fields.get(head), tail) if dot and isinstance(fields, dict) else None


def _number_or_date_s(value: object) -> float | None:
    """Seconds since the epoch, from them, thousandths, millionths, nanoseconds, or a date."""
    number = None if isinstance(value, bool) else _number(value)
    if number is None:
        return _date_s(value) if isinstance(value, str) else None
    if not 0 < number < 1e20:
        return None
    return number / 1000.0 ** max(0, math.floor((math.log10(number) - 8) / 3))


def _date_s(text: str) -> float | None:
    iso_s = Text(pattern=_ISO, in_quotes=True).time_s(text)
    # nginx's $time_local has no brackets of its own.
    return iso_s if iso_s is not None else Text(pattern=_BRACKETS).time_s(f"[{text}]")


def _duration_s(value: object) -> float | None:
    duration_s = _number(value)
    return duration_s if duration_s is not None and 0 <= duration_s < 1e5 else None


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


@lru_cache(maxsize=1024)
def _seconds(is_clf: bool, date: str, time: str, zone: str | None) -> float | None:
    """Since the epoch; without a zone, as if it were UTC: only differences count."""
    try:
        if is_clf:
            day, month, year = date.split("/")
            date = f"{year}-{_MONTHS.index(month) // 3 + 1:02d}-{day}"
        at = datetime.fromisoformat(f"{date} {time}").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return (at - _offset(zone)).timestamp()


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta()
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return timedelta(minutes=-minutes if zone[0] == "-" else minutes)


def _without_query(target: str) -> str:
    _, has_host, rest = target.partition("://")
    if has_host:
        target = "/" + rest.partition("/")[2]
    return target.partition("?")[0]

"""Where every field of a ``config.pbtxt`` stands, and which of them Triton does not know.

Protobuf's own parser judges the text; it names only the first fault and forgets where the rest
stood. This walks the same text once more, against the same descriptors, for positions and for
faults that a person can act on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Position = tuple[int, int]
"""Line and column, from 1."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\n\r\v\f]+|\#[^\n\0]*)
      |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
      |(?P<number>(?:0[xX][0-9a-fA-F]+|[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?[fF]?|\.[0-9]+(?:[eE][+-]?[0-9]+)?[fF]?))
      |(?P<string>"(?:\\.|[^"\\\n\0])*"|'(?:\\.|[^'\\\n\0])*')
      |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\\'\"?]|[0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U00[01][0-9a-fA-F]{5})"
)
"""What Triton's parser takes after a backslash, no more."""
_CLOSING = {"{": "}", "<": ">"}


@dataclass(frozen=True)
class Token:
    """A word of the text: its kind, itself, its line and column, its offset."""

    kind: str
    text: str
    position: Position
    start: int

    @property
    def end(self) -> int:
        """The offset of what follows."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Fault:
    """Something that the walk could not take.

    Attributes:
        kind: ``syntax``, ``field`` (unknown there) or ``value`` (of the wrong sort).
        position: of the word at fault.
        path: of the field, or of the message that does not have it.
        word: as written.
        message: the descriptor of the message it stands in.
        field: the descriptor of the field; None for an unknown one.
    """

    kind: str
    position: Position
    path: str
    word: str
    message: Any
    field: Any = None


@dataclass
class Scan:
    """What a walk found.

    Attributes:
        positions: by path: ``dynamic_batching.preferred_batch_size[1]``.
        words: the scalars as written, by path.
        unfit: start and end of each field whose value is not of its sort.
        faults: in the order of the text.
    """

    positions: dict[str, Position] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    unfit: list[tuple[int, int]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def scan(text: str, message: Any) -> Scan:
    """Walk ``text`` as a message of the descriptor ``message``; never raises."""
    walk = _Walk(list(_tokens(text)))
    try:
        walk.message(message, "", end="")
    except _Stop:
        pass
    except RecursionError:
        walk.result.faults.append(Fault("syntax", (1, 1), "", "nesting", message))
    return walk.result


def _tokens(text: str) -> Iterator[Token]:
    line, start = 1, 0
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind != "space":
            position = (line, match.start() - start + 1)
            yield Token(kind, match.group(), position, match.start())
        newlines = match.group().count("\n")
        if newlines:
            line += newlines
            start = match.start() + match.group().rindex("\n") + 1
    yield Token("end", "", (line, len(text) - start + 1), len(text))


class _Stop(Exception):
    """The text can't be followed any further."""


class _Walk:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self.result = Scan()

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _accept(self, *marks: str) -> bool:
        if self._next.kind == "mark" and self._next.text in marks:
            self._take()
            return True
        return False

    def _stop(self, message: Any, path: str) -> _Stop:
        self._fault("syntax", self._next, path, message)
        return _Stop()

    def _fault(self, kind: str, token: Token, path: str, message: Any, known: Any = None) -> None:
        self.result.faults.append(Fault(kind, token.position, path, token.text, message, known))

    def message(self, descriptor: Any, path: str, end: str) -> None:
        """Fields up to the closing mark; a descriptor of None only skips."""
        counts: dict[str, int] = {}
        while not (self._accept(end) if end else self._next.kind == "end"):
            if self._next.kind != "name":
                raise self._stop(descriptor, path)
            name = self._take()
            known = descriptor.fields_by_name.get(name.text) if descriptor else None
            if descriptor and known is None:
                self._fault("field", name, path, descriptor)
            self._values(name, known, path, counts, descriptor)
            self._accept(",", ";")

    def _values(
        self, name: Token, known: Any, path: str, counts: dict[str, int], descriptor: Any
    ) -> None:
        """What follows a field's name: a message, a scalar, or a list of either."""
        self._accept(":")
        listed = self._accept("[")
        if listed and self._accept("]"):
            return
        good = True
        while True:
            n = counts.get(name.text, 0)
            counts[name.text] = n + 1
            own = ".".join(part for part in (path, name.text) if part)
            own += f"[{n}]" if known is not None and known.is_repeated else ""
            where = self._next.position if listed else name.position
            self.result.positions.setdefault(own, where)
            good = self._value(known, own, descriptor) and good
            if not listed or not self._accept(","):
                break
        if listed and not self._accept("]"):
            raise self._stop(descriptor, path)
        if not good:
            self.result.unfit.append((name.start, self._tokens[self._at - 1].end))

    def _value(self, known: Any, path: str, descriptor: Any) -> bool:
        """Whether what follows is of the field's sort; its faults are noted."""
        opening = self._next
        if self._accept("{", "<"):
            inner = known.message_type if known is not None else None
            if known is not None and inner is None:
                self._fault("value", opening, path, descriptor, known)
            self.message(inner, path, _CLOSING[opening.text])
            return known is None or inner is not None
        minus = self._accept("-")
        if self._next.kind not in ("name", "number", "string"):
            raise self._stop(descriptor, path)
        token = self._take()
        self.result.words[path] = token.text
        parts = [token]
        while token.kind == "string" and self._next.kind == "string":
            parts.append(self._take())
        for part in parts:
            if part.kind == "string" and "\\" in _ESCAPE.sub("", part.text):
                self._fault("syntax", part, path, descriptor)
        if known is None or _fits(known, token, minus):
            return True
        self._fault("value", token, path, descriptor, known)
        return False


def _fits(known: Any, token: Token, minus: bool) -> bool:
    """Whether a scalar is of the sort that the field takes; ranges are the parser's business."""
    if known.message_type is not None:
        return False
    if known.enum_type is not None:
        return token.kind == "number" or token.text in known.enum_type.values_by_name
    if known.type in (known.TYPE_STRING, known.TYPE_BYTES):
        return token.kind == "string"
    if known.type == known.TYPE_BOOL:
        return token.text in ("true", "false", "True", "False", "t", "f") or whole(token) in (0, 1)
    if known.type in (known.TYPE_FLOAT, known.TYPE_DOUBLE):
        number = token.kind == "number" and not re.match(r"0[xX0-9]", token.text)
        return number or token.text.lower() in ("inf", "infinity", "nan")
    unsigned = known.type in (known.TYPE_UINT32, known.TYPE_UINT64)
    return whole(token) is not None and not (minus and unsigned)


def whole(token: Token) -> int | None:
    """The value of a whole number: decimal, 0x hexadecimal or 0 octal."""
    if token.kind != "number":
        return None
    for pattern, base in ((r"0[xX][0-9a-fA-F]+", 16), (r"0[0-7]*", 8), (r"[1-9][0-9]*", 10)):
        if re.fullmatch(pattern, token.text):
            return int(token.text, base)
    return None


def plain(text: str) -> str:
    """The same text for protobuf's Python parser, which takes less than Triton's does.

    Whole numbers become decimal, a minus is joined to its number, and what is escaped in a string
    is written out; bytes that are no UTF-8 become U+FFFD. Lines stay lines.
    """
    words: list[str] = []
    for match in _TOKEN.finditer(text):
        kind, word = str(match.lastgroup), match.group()
        if kind == "number":
            value = whole(Token(kind, word, (0, 0), 0))
            word = word if value is None else str(value)
        elif kind == "string":
            word = _written_out(word)
        elif kind == "space" and "\n" not in word and words and words[-1] == "-":
            word = ""
        words.append(word)
    return "".join(words)


def _written_out(string: str) -> str:
    """A quoted string whose only escapes are of quotes, backslashes and line ends."""
    data = re.sub(_ESCAPE.pattern.encode(), _byte, string[1:-1].encode("utf-8", "replace"))
    text = data.decode("utf-8", "replace")
    for mark, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(mark, escaped)
    return f'"{text}"'


def _byte(match: re.Match[bytes]) -> bytes:
    body = match.group()[1:]
    if body[:1] in b"uU":
        return chr(min(int(body[1:], 16), 0x10FFFF)).encode("utf-8", "replace")
    if body[:1] == b"x":
        return bytes([int(body[1:], 16)])
    if body.isdigit():
        return bytes([int(body, 8) & 0xFF])
    return {
        b"a": b"\a",
        b"b": b"\b",
        b"f": b"\f",
        b"n": b"\n",
        b"r": b"\r",
        b"t": b"\t",
        b"v": b"\v",
    }.get(body, body)

"""From the text of a configuration to its message, or to what is wrong with the text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from tools.validate.findings import Finding, Place
from tools.validate.rules import configuration, syntax
from tools.validate.scan import Fault, Scan, plain, scan
from tools.validate.source import Source
from tools.validate.target import NEWER_FIELDS, Target

NEVER = {
    "max_queue_delay_microseconds": "Triton has no delay per priority",
    "max_enqueued_requests": "a queue is bounded by max_queue_size, in default_queue_policy",
    "batch_size": "clients send it; the largest is max_batch_size",
    "batch_timeout_micros": "TensorFlow Serving's; Triton's is max_queue_delay_microseconds",
}
"""What to say of names that guides and other servers use."""
_UNREADABLE = (text_format.ParseError, ValueError, RecursionError)
_SCHEDULERS = ("dynamic_batching", "sequence_batching", "ensemble_scheduling")


def read_configuration(path: Path, target: Target) -> tuple[Source, list[Finding]]:
    """The configuration of a file, and what is wrong with its text.

    Fields that Triton does not know, or whose values are not of their sort, are reported and then
    passed over, so that the others are still checked. The message is None where the text can't be
    followed.
    """
    text = path.read_bytes().decode("utf-8", errors="replace")
    walked = scan(text, ModelConfig.DESCRIPTOR)
    config, error = _parse(plain(_without(text, walked.unfit)))
    findings = list(_faults(path, walked, target))
    if error and not findings:
        findings = [_unparsed(path, walked, error)]
    return Source(path, config, walked.positions, walked.words), findings


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with blanks in place of some of it, so that the rest can still be checked."""
    for start, end in spans:
        blank = "".join(one if one == "\n" else " " for one in text[start:end])
        text = text[:start] + blank + text[end:]
    return text


def _parse(text: str) -> tuple[Any, str]:
    """The message without unknown fields, and what the parser says of the whole text."""
    error = ""
    try:
        return text_format.Parse(text, ModelConfig()), ""
    except _UNREADABLE as problem:
        error = str(problem) or type(problem).__name__
    try:
        return text_format.Parse(text, ModelConfig(), allow_unknown_field=True), error
    except _UNREADABLE:
        return None, error


def _faults(path: Path, walked: Scan, target: Target) -> Iterator[Finding]:
    for fault in walked.faults:
        place = Place(path, *fault.position)
        if fault.kind == "field":
            yield syntax.UNKNOWN_FIELD.at(place, _unknown(fault))
        elif fault.kind == "value":
            yield syntax.WRONG_VALUE.at(place, _wrong(fault))
        else:
            within = f" in {fault.path}" if fault.path else ""
            yield syntax.SYNTAX.at(place, f"did not expect {fault.word or 'the end'!r}{within}")
    for field, position in walked.positions.items():
        since = NEWER_FIELDS.get(field.rpartition(".")[2].partition("[")[0])
        if since and target.server < since:
            first = ".".join(map(str, since))
            message = f"{field}: expected Triton {first} or later, got {target}"
            yield syntax.NEWER_FIELD.at(Place(path, *position), message)
    schedulers = [name for name in _SCHEDULERS if name in walked.positions]
    if len(schedulers) > 1:
        place = Place(path, *walked.positions[schedulers[1]])
        yield configuration.TWO_SCHEDULERS.at(
            place, f"expected one scheduler, got {' and '.join(schedulers)}"
        )


def _unparsed(path: Path, walked: Scan, error: str) -> Finding:
    """What only protobuf's parser saw: its message begins with ``line:column :``."""
    head, _, said = error.partition(" : ")
    line, _, column = head.partition(":")
    if line.isdigit() and column.isdigit():
        return syntax.SYNTAX.at(Place(path, int(line), int(column)), said)
    return syntax.SYNTAX.at(Place(path), error)


def _unknown(fault: Fault) -> str:
    where = _where(fault.path)
    said = f"{fault.word} is not a field of {where}"
    known = [field.name for field in fault.message.fields]
    elsewhere = [home for home in _homes().get(fault.word, ()) if home != where]
    if elsewhere:
        said += f"; it belongs to {elsewhere[0]}"
    elif near := difflib.get_close_matches(fault.word, known, n=1, cutoff=0.7):
        said += f"; did you mean {near[0]}?"
    elif near := difflib.get_close_matches(fault.word, list(_homes()), n=1, cutoff=0.8):
        said += f"; did you mean {near[0]}, of {_homes()[near[0]][0]}?"
    elif fault.word not in NEVER:
        said += f", which has {', '.join(known)}"
    return f"{said}; {NEVER[fault.word]}" if fault.word in NEVER else said


def _wrong(fault: Fault) -> str:
    known = fault.field
    if known.message_type is not None:
        expected = f"{{ ... }} with {', '.join(field.name for field in known.message_type.fields)}"
    elif known.enum_type is not None:
        names = [value.name for value in known.enum_type.values]
        word = fault.word.strip("\"'")
        near = difflib.get_close_matches(word.upper(), names, n=1, cutoff=0.4)
        expected = f"{near[0]}, without quotes" if near else f"one of {', '.join(names[:16])}"
    else:
        expected = _SORTS.get(known.cpp_type, "another sort of value")
    return f"{fault.path}: expected {expected}, got {fault.word}"


_DESCRIPTOR = ModelConfig.DESCRIPTOR.fields[0]
_SORTS = {
    _DESCRIPTOR.CPPTYPE_INT32: "a whole number",
    _DESCRIPTOR.CPPTYPE_INT64: "a whole number",
    _DESCRIPTOR.CPPTYPE_UINT32: "a whole number of 0 or more",
    _DESCRIPTOR.CPPTYPE_UINT64: "a whole number of 0 or more",
    _DESCRIPTOR.CPPTYPE_BOOL: "true or false",
    _DESCRIPTOR.CPPTYPE_STRING: "text in quotes",
    _DESCRIPTOR.CPPTYPE_FLOAT: "a number",
    _DESCRIPTOR.CPPTYPE_DOUBLE: "a number",
}


def _where(path: str) -> str:
    """A message as the user wrote it: the last field on the way to it."""
    names = [part.partition("[")[0] for part in path.split(".") if part]
    named = [name for name in names if name != "value"]
    return named[-1] if named else "the model configuration"


@lru_cache(maxsize=1)
def _messages() -> dict[str, tuple[str, Any]]:
    """Every message below a configuration, nearest first, and what a user would call it."""
    known: dict[str, tuple[str, Any]] = {}
    ahead = [("", ModelConfig.DESCRIPTOR)]
    for path, message in ahead:
        if message.full_name in known:
            continue
        known[message.full_name] = (path or "the model configuration", message)
        for field in message.fields:
            inner = field.message_type
            if inner is not None and not inner.GetOptions().map_entry:
                ahead.append((field.name, inner))
            elif inner is not None and inner.fields_by_name["value"].message_type is not None:
                ahead.append((field.name, inner.fields_by_name["value"].message_type))
    return known


@lru_cache(maxsize=1)
def _homes() -> dict[str, list[str]]:
    """Field name to the messages that have it."""
    homes: dict[str, list[str]] = {}
    for name, message in _messages().values():
        for field in message.fields:
            homes.setdefault(field.name, []).append(name)
    return homes

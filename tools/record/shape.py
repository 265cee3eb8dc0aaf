"""Whether what came from a file has the types that its dataclasses declare."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

_WIDEST = 2**63
"""No count is beyond, and no sum of counts leaves floating point."""
_DEEPEST = 32
"""Values within values; a configuration of Triton's has half a dozen."""


def misfits(instance: Any) -> Iterator[str]:
    """``Load.value: expected float, got 'x'`` for each field that is not what it is declared as.

    Args:
        instance: a dataclass; those within it are looked into.
    """
    hints = _hints(instance.__class__)
    for field in fields(instance):
        value = getattr(instance, field.name)
        if not _fits(value, hints[field.name]):
            name = f"{type(instance).__name__}.{field.name}"
            yield f"{name}: expected {field.type}, got {value!r:.60}"
        for each in value if isinstance(value, tuple) else (value,):
            if is_dataclass(each):
                yield from misfits(each)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return _is_shallow(value)
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is tuple:
        declared = inner[:1] * len(value) if inner[-1] is ... else inner
        return len(value) == len(declared) and all(map(_fits, value, declared))
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            _fits(key, inner[0]) and _fits(each, inner[1]) for key, each in value.items()
        )
    if hint is int or (hint is float and isinstance(value, int)):
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _WIDEST
    return origin is not None or isinstance(value, hint)


def _is_shallow(value: Any, deepest: int = _DEEPEST) -> bool:
    """Whether it can be written again: that takes a call for each level."""
    if not isinstance(value, Mapping | list):
        return True
    inner = value.values() if isinstance(value, Mapping) else value
    return deepest > 0 and all(_is_shallow(each, deepest - 1) for each in inner)

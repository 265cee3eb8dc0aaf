"""Elements of HTML and SVG. What is put in is text, so nothing from a record becomes markup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias
from xml.etree.ElementTree import Element, tostring

from tools.terminal import printable

Child: TypeAlias = "Element | str | Iterable[Child] | None"


def node(tag: str, *children: Child, **attributes: object) -> Element:
    """An element.

    Args:
        tag: its name.
        children: elements, text, or iterables of both; None is left out.
        attributes: an underscore stands for a hyphen, one at the end for nothing, so ``class_``
            is ``class``; numbers are rounded to a tenth; None is left out.
    """
    element = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            text = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
            element.set(name.rstrip("_").replace("_", "-"), visible(text))
    _extend(element, children)
    return element


def _extend(element: Element, children: Iterable[Child]) -> None:
    for child in children:
        if isinstance(child, Element):
            element.append(child)
        elif isinstance(child, str):
            _append_text(element, visible(child))
        elif child is not None:
            _extend(element, child)


def _append_text(element: Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def visible(text: str) -> str:
    r"""The text with what has no shape, or turns the direction, as ``\x..``; lines stay."""
    if text.isprintable():
        return text
    return "\n".join(printable(line, None) for line in text.split("\n"))


def html(element: Element) -> str:
    """The element as HTML that is XML as well; none of its elements may be void, as ``br`` is."""
    return tostring(element, encoding="unicode", short_empty_elements=False)

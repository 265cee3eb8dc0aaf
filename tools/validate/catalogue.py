"""All rules, by code and by name; which of them a run wants."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from ensemble.errors import ContractMismatch
from tools.validate.findings import Rule
from tools.validate.rules import (
    advice,
    configuration,
    ensemble,
    live,
    onnx,
    preprocessing,
    repository,
    syntax,
)

FAMILIES = {
    "S": (syntax,),
    "C": (configuration, advice),
    "R": (repository,),
    "E": (ensemble,),
    "O": (onnx,),
    "P": (preprocessing,),
    "D": (live,),
}
"""First letter of the codes, and the modules that hold the texts."""


def _rules(module: ModuleType) -> list[Rule]:
    return [value for value in vars(module).values() if isinstance(value, Rule)]


RULES: dict[str, Rule] = {
    rule.code: rule for modules in FAMILIES.values() for one in modules for rule in _rules(one)
}


def find(code_or_name: str) -> Rule:
    """The rule of a code or a name.

    Raises:
        ContractMismatch: there is none; the message lists those that come closest.
    """
    import difflib

    wanted = code_or_name.strip()
    for rule in RULES.values():
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            return rule
    known = [*RULES, *(rule.name for rule in RULES.values())]
    near = difflib.get_close_matches(wanted.lower(), known, n=3, cutoff=0.5)
    near = near or difflib.get_close_matches(wanted.upper(), known, n=3, cutoff=0.3)
    raise ContractMismatch(f"no rule {wanted!r}; did you mean {', '.join(near) or 'C006'}?")


class Selection:
    """Which rules a run reports: codes, prefixes of codes, or names."""

    def __init__(self, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> None:
        for word in (*select, *ignore):
            if not any(_means(word, rule) for rule in RULES.values()):
                find(word)
        self._select = tuple(select)
        self._ignore = tuple(ignore)

    def __contains__(self, rule: Rule) -> bool:
        """Whether a breach of ``rule`` is reported."""
        selected = not self._select or any(_means(word, rule) for word in self._select)
        return selected and not any(_means(word, rule) for word in self._ignore)

    def wants(self, family: str) -> bool:
        """Whether any rule of a family is reported; one that is not need not be looked for."""
        return any(rule in self for code, rule in RULES.items() if code.startswith(family))


def _means(word: str, rule: Rule) -> bool:
    return rule.code.startswith(word.upper()) or rule.name == word.lower()

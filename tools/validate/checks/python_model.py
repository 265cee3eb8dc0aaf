"""A ``model.py``, read and not run: only what is sure without running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from tools.validate.findings import Finding, Place
from tools.validate.polled import Model
from tools.validate.rules import configuration
from tools.validate.rules import repository as rules

CLASS = "TritonPythonModel"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# With one of these a name may come about in ways that reading does not show.
_INDIRECT = re.compile(rb"globals\(|vars\(|exec\(|eval\(|setattr\(|__getattr__|__dict__|import \*")
_ENVIRONMENT = "EXECUTION_ENV_PATH"
_CPU_ONLY = "FORCE_CPU_ONLY_INPUT_TENSORS"


def check(model: Model, path: Path) -> Iterator[Finding]:
    """The file that the Python backend imports; ``path`` is there."""
    yield from _parameters(model)
    name = model.filename
    if not name.endswith(".py") or name.startswith("./"):
        yield rules.MODEL_PY.at(
            model.place("default_model_filename"),
            f"default_model_filename: expected a name that ends in .py, got {name}",
        )
        return
    if not path.is_file():
        yield rules.MODEL_PY.at(Place(path), f"expected a file, got a folder {name}")
        return
    source = path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, str(path), "exec", dont_inherit=True)
            tree = ast.parse(source, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        yield rules.MODEL_PY.at(Place(path, line), f"expected valid Python, got: {error}")
        return
    if not _INDIRECT.search(source):
        yield from _class(path, tree)


def _class(path: Path, tree: ast.Module) -> Iterator[Finding]:
    bound = _bindings(tree.body, tree).get(CLASS)
    if bound is None or isinstance(bound, (ast.Constant, ast.Delete)):
        yield rules.MODEL_PY.at(Place(path), f"expected a class {CLASS}, got none")
    elif isinstance(bound, ast.ClassDef) and not (bound.bases or bound.decorator_list):
        own = _bindings(bound.body, bound)
        place = Place(path, bound.lineno)
        if isinstance(own.get("initialize"), ast.Constant):
            yield rules.MODEL_PY.at(place, f"{CLASS}: expected initialize to be a method")
        if "execute" not in own:
            yield rules.NO_EXECUTE.at(place, f"{CLASS}: expected execute, got none")


def _bindings(body: list[ast.stmt], scope: ast.AST) -> dict[str, ast.AST]:
    """What each name stands for at the end of a module or class, as far as reading tells."""
    names: dict[str, ast.AST] = {}
    for statement in body:
        for name, value in _bound(statement):
            names[name] = value
    if isinstance(scope, ast.Module):  # functions may declare one of the module's names
        for node in ast.walk(scope):
            if isinstance(node, ast.Global):
                names.update(dict.fromkeys(node.names, node))
    return names


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """The names that one statement binds, not those inside functions and classes."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        yield statement.name, statement
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0], statement
    elif not (isinstance(statement, ast.AnnAssign) and statement.value is None):
        nested = list(_nested(statement))
        for inner in nested:
            yield from _bound(inner)
        if not nested:
            yield from _assigned(statement)


def _nested(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements inside an if, a loop, a with, a try or a match."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    value: ast.AST = getattr(statement, "value", None) or statement
    for child in ast.walk(statement):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id, value
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Del):
            yield child.id, statement


def _parameters(model: Model) -> Iterator[Finding]:
    """Those of the Python backend that stop it. Source: python_backend's python_be.cc."""
    given = {key: value.string_value for key, value in model.config.parameters.items()}
    if given.get(_CPU_ONLY, "no") not in ("yes", "no"):
        yield configuration.PARAMETER.at(
            model.place("parameters"), f"{_CPU_ONLY}: expected yes or no, got {given[_CPU_ONLY]}"
        )
    environment = given.get(_ENVIRONMENT, "")
    if environment and model.directory is not None:
        path = environment.replace("$$TRITON_MODEL_DIRECTORY", str(model.directory))
        if not Path(path).exists():
            yield configuration.PARAMETER.at(
                model.place("parameters"), f"{_ENVIRONMENT}: expected a file, {path} is not there"
            )

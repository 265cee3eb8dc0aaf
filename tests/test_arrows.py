"""Imports run one way. The map is ``ALLOWED``; a module that is not on it is an error too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Package to what its modules may import of ours: packages, or single modules.
ALLOWED: dict[str, tuple[str, ...]] = {
    "ensemble": (),
    "preprocess": ("ensemble",),
    "classifier": ("ensemble",),
    "postprocess": ("ensemble",),
    "microbatch": ("ensemble.errors",),
    "tools": ("ensemble", "preprocess", "classifier", "postprocess", "microbatch"),
    "benchmarks": ("ensemble", "preprocess", "classifier", "postprocess", "microbatch", "tools"),
    "model_repository": ("ensemble", "preprocess", "classifier", "postprocess"),
}
# Exists inside Triton only, so only what becomes a model.py may import it.
INSIDE_TRITON = "triton_python_backend_utils"
RUNS_IN_TRITON = ("model_repository.*.model", "benchmarks.*_model")


def wrong_arrows(root: Path) -> list[str]:
    """One line for each import that the map does not allow, and for each circle."""
    graph = import_graph(root)
    faults = [
        f"{module} imports {target}"
        for module, targets in graph.items()
        for target in sorted(targets)
        if not _is_allowed(module, target)
    ]
    return faults + [f"circle: {' -> '.join(circle)}" for circle in circles(graph)]


def _is_allowed(module: str, target: str) -> bool:
    package = module.split(".")[0]
    if target == INSIDE_TRITON:
        return any(fnmatch(module, pattern) for pattern in RUNS_IN_TRITON)
    if target.split(".")[0] == package:
        return True
    names = ALLOWED.get(package, ())
    return any(target == name or target.startswith(f"{name}.") for name in names)


def import_graph(root: Path) -> dict[str, set[str]]:
    """Module of ours to the modules of ours, and of Triton's stub, that it imports."""
    files = {_module(root, path): path for package in _packages(root) for path in _python(package)}
    tops = {name.split(".")[0] for name in files} | {"tests", INSIDE_TRITON}
    return {
        module: {
            _longest(name, files)
            for name in _imports(ast.parse(path.read_text(encoding="utf-8")), module, path)
            if name.split(".")[0] in tops
        }
        - {module}
        for module, path in files.items()
    }


def _packages(root: Path) -> list[Path]:
    return sorted(
        folder
        for folder in root.iterdir()
        if (folder / "__init__.py").exists() or folder.name in ALLOWED
        if folder.name != "tests"
    )


def _python(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def _module(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _longest(name: str, files: dict[str, Path]) -> str:
    """The module that ``from a import b`` means: ``a.b`` where there is one, else ``a``."""
    while name not in files and "." in name:
        name = name.rpartition(".")[0]
    return name


def _imports(tree: ast.AST, module: str, path: Path) -> Iterator[str]:
    """Every import, also inside functions; relative ones written out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            prefix = node.module or ""
            if node.level:
                up = node.level - (path.name == "__init__.py")
                parent = module.split(".")[: len(module.split(".")) - up]
                prefix = ".".join([*parent, *filter(None, [node.module])])
            yield from (f"{prefix}.{alias.name}" for alias in node.names)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """One circle for each module that leads back to itself and was on no earlier circle."""
    found: list[list[str]] = []
    for start in sorted(graph):
        circle = _path_back(graph, start)
        if circle and not any(set(circle) & set(other) for other in found):
            found.append(circle)
    return found


def _path_back(graph: dict[str, set[str]], start: str) -> list[str] | None:
    queue, seen = [[start]], set()
    while queue:
        path = queue.pop(0)
        for following in sorted(graph.get(path[-1], ())):
            if following == start:
                return [*path, start]
            if following not in seen:
                seen.add(following)
                queue.append([*path, following])
    return None


def test_our_imports_run_one_way() -> None:
    assert wrong_arrows(ROOT) == []


def test_every_package_is_on_the_map() -> None:
    assert {package.name for package in _packages(ROOT)} <= set(ALLOWED)


def test_the_walk_sees_the_imports_that_are_there() -> None:
    graph = import_graph(ROOT)
    assert "ensemble.errors" in graph["preprocess.decode"]
    assert INSIDE_TRITON in graph["model_repository.postprocess.1.model"]
    assert "tools.export" in graph["tools.serve.installation"]


@pytest.mark.parametrize(
    ("module", "line", "fault"),
    [
        ("ensemble/a.py", "import preprocess", "ensemble.a imports preprocess"),
        ("preprocess/a.py", "from postprocess import b", "preprocess.a imports postprocess.b"),
        ("postprocess/a.py", "import preprocess.b as c", "postprocess.a imports preprocess.b"),
        ("classifier/a.py", "from preprocess.b import c", "classifier.a imports preprocess.b"),
        ("microbatch/a.py", "from ensemble import b", "microbatch.a imports ensemble.b"),
        ("preprocess/a.py", "def f():\n    from tools import b", "preprocess.a imports tools.b"),
        ("tools/a.py", "import tests.fakes", "tools.a imports tests"),
        ("tools/a.py", "import benchmarks.b", "tools.a imports benchmarks.b"),
        ("tools/c/a.py", "from .. import b\nfrom ...ensemble import b", None),
        ("ensemble/a.py", f"import {INSIDE_TRITON}", f"ensemble.a imports {INSIDE_TRITON}"),
        ("model_repository/m/1/model.py", "import tools.b", "repository.m.1.model imports tools.b"),
        ("model_repository/m/1/model.py", f"import {INSIDE_TRITON}", None),
        ("surprise/a.py", "import ensemble", "surprise.a imports ensemble"),
    ],
)
def test_a_wrong_arrow_is_found(tmp_path: Path, module: str, line: str, fault: str | None) -> None:
    for package in (*ALLOWED, "surprise"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "b.py").touch()
    (tmp_path / "surprise" / "__init__.py").touch()
    path = tmp_path / module
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line, encoding="utf-8")
    got = wrong_arrows(tmp_path)
    assert got == [] if fault is None else len(got) == 1 and got[0].endswith(fault), got


def test_a_circle_is_found(tmp_path: Path) -> None:
    for name, line in (("a", "from . import b"), ("b", "from ensemble import c"), ("c", "")):
        (tmp_path / "ensemble").mkdir(exist_ok=True)
        (tmp_path / "ensemble" / f"{name}.py").write_text(line, encoding="utf-8")
    assert wrong_arrows(tmp_path) == []
    (tmp_path / "ensemble" / "c.py").write_text("def f():\n    import ensemble.a", encoding="utf-8")
    circle = ["ensemble.a", "ensemble.b", "ensemble.c", "ensemble.a"]
    assert wrong_arrows(tmp_path) == [f"circle: {' -> '.join(circle)}"]

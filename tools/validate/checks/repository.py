"""The folders and files of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.validate.checks import python_model
from tools.validate.checks.data import joined
from tools.validate.findings import Finding, Place
from tools.validate.polled import Model, version_of
from tools.validate.rules import configuration
from tools.validate.rules import repository as rules

_LABELS = 1 << 24
"""Bytes of a label file that are read."""


def check(model: Model) -> Iterator[Finding]:
    """Everything below the model's folder; nothing for a configuration on its own."""
    if model.directory is None:
        return
    if model.config.name and model.config.name != model.directory.name:
        yield configuration.NAME_OF_DIRECTORY.at(
            model.place("name"),
            f"name: expected {model.directory.name}, as the folder, got {model.config.name}",
        )
    yield from _versions(model, model.directory)
    yield from _misplaced(model, model.directory)
    if not model.is_ensemble:
        for version in model.served:
            yield from _file(model, version)
    for n, output in enumerate(model.config.output):
        if output.label_filename:
            path = joined(model.directory, output.label_filename)
            yield from _labels(model, n, path)


def _versions(model: Model, directory: Path) -> Iterator[Finding]:
    names = sorted(path.name for path in directory.iterdir() if path.is_dir())
    for name in names:
        yield from _version(model, directory / name)
    policy = model.config.version_policy
    for version in policy.specific.versions:
        if version not in model.versions and model.served:
            yield rules.VERSION_NOT_THERE.at(
                model.place("version_policy"),
                f"version_policy: expected one of {list(model.versions)}, got {version}",
            )
    if not model.served:
        place = model.place("version_policy") if model.versions else Place(directory)
        asked = " that version_policy serves" if model.versions else ""
        yield rules.NO_VERSION.at(
            place, f"expected a version folder{asked}, got {', '.join(names) or 'no folder'}"
        )
    elif len(model.served) < len(model.versions) and not policy.WhichOneof("policy_choice"):
        left = model.versions[: -len(model.served)]
        yield rules.OLD_VERSIONS.at(
            Place(directory),
            f"serves {model.served[-1].name} only, not {', '.join(map(str, left))}",
        )


def _version(model: Model, folder: Path) -> Iterator[Finding]:
    number = version_of(folder.name)
    if number is None:
        looks = folder.name.strip().lstrip("vV").replace(".", "").replace("_", "")
        if looks.isdigit():
            yield rules.VERSION_IGNORED.at(
                Place(folder), f"expected a whole number such as 1, got {folder.name!r}"
            )
    elif abs(number) >= 1 << 63 or (number < 0 and folder in model.served):
        yield rules.VERSION_NUMBER.at(
            Place(folder), f"expected 1 to {(1 << 63) - 1}, got {folder.name}"
        )
    elif str(number) != folder.name or number < 0:
        yield rules.VERSION_IGNORED.at(
            Place(folder), f"expected {abs(number)}, got {folder.name!r}"
        )


def _misplaced(model: Model, directory: Path) -> Iterator[Finding]:
    for path in sorted(directory.iterdir()):
        near = path.name.lower() in ("config.pbtxt", "config.pbtx", "config.txt", "config.pb")
        if path.is_file() and near and path.name != "config.pbtxt":
            yield rules.CONFIG_MISPLACED.at(Place(path), f"expected config.pbtxt, got {path.name}")
    for number in model.versions:
        inside = directory / str(number) / "config.pbtxt"
        if inside.exists():
            yield rules.CONFIG_MISPLACED.at(
                Place(inside), "expected beside the version folders, got inside"
            )


def _file(model: Model, version: Path) -> Iterator[Finding]:
    name = model.filename
    if not name:
        return
    path = version / name
    if not path.exists():
        there = "no such folder"
        if version.is_dir():
            there = ", ".join(sorted(child.name for child in version.iterdir())) or "nothing"
        compute = model.config.cc_model_filenames
        if not compute:
            yield rules.MODEL_FILE_MISSING.at(Place(path), f"expected {name}, got {there}")
    elif model.backend == "python":
        yield from python_model.check(model, path)


def _labels(model: Model, n: int, path: Path) -> Iterator[Finding]:
    output = model.config.output[n]
    if not path.is_file():
        yield rules.LABELS_MISSING.at(
            model.place(f"output[{n}].label_filename"),
            f"output {output.name}: expected {output.label_filename} in {path.parent}, not there",
        )
        return
    classes = output.dims[-1] if output.dims else -1
    yield from label_file(path, classes)


def label_file(path: Path, classes: int) -> Iterator[Finding]:
    """What is odd in a file of labels.

    Args:
        path: the file.
        classes: how many there should be; below 1 where that is not known.
    """
    with path.open("rb") as file:
        data = file.read(_LABELS)
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if classes > 0 and len(lines) != classes:
        yield rules.LABEL_COUNT.at(Place(path), f"expected {classes} lines, got {len(lines)}")
    yield from _odd_lines(path, lines)
    named = Counter(line for line in lines if line.strip())
    for line, count in named.most_common(1):
        if count > 1:
            second = [at for at, other in enumerate(lines, 1) if other == line][1]
            text = line.decode("utf-8", "replace")
            yield rules.LABEL_TWICE.at(Place(path, second), f"{text!r}: expected once, got {count}")


def _odd_lines(path: Path, lines: list[bytes]) -> Iterator[Finding]:
    """The first line of each kind of oddness, and how many there are."""
    kinds: dict[str, Callable[[bytes], bool]] = {
        "a blank line": lambda line: not line.strip(),
        "a carriage return": lambda line: line.endswith(b"\r"),
        "bytes that are not UTF-8": lambda line: not _is_utf8(line),
        "a tab": lambda line: b"\t" in line,
        "a byte order mark": lambda line: line.startswith(b"\xef\xbb\xbf"),
        "spaces around the name": lambda line: line != line.strip() and not line.endswith(b"\r"),
    }
    for kind, odd in kinds.items():
        at = [n for n, line in enumerate(lines, 1) if odd(line)]
        if at:
            more = f", and {len(at) - 1} more" if len(at) > 1 else ""
            message = f"expected a plain name, got {kind}{more}"
            yield rules.LABEL_TEXT.at(Place(path, at[0]), message)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

"""Answers and failures of ``classify``, as text or JSON lines, around a progress bar."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from ensemble.errors import ContractMismatch, ServingError
from tools.client.options import DEFAULT_TOP_K
from tools.client.transport import Answer
from tools.terminal import printable

if TYPE_CHECKING:
    from tqdm import tqdm

Result = Answer | ServingError
BAR_ABOVE_FILES = 20


@dataclass
class Report:
    """Prints each result as it comes, and remembers what the exit code has to say.

    Attributes:
        out: answers, and with ``as_json`` failures as well.
        err: failures.
        as_json: one JSON object a line rather than text.
        top_k: how many classes to show; None shows ``DEFAULT_TOP_K``, or all where there are fewer.
        bar: the progress bar, if there is one.
        answered: files with an answer.
        failed: files without.
        exit_code: 0, or the highest of the failures.
    """

    out: TextIO
    err: TextIO
    as_json: bool = False
    top_k: int | None = None
    bar: tqdm[Any] | None = None
    answered: int = 0
    failed: int = 0
    exit_code: int = 0

    def show(self, name: str, result: Result) -> None:
        """Print one file's result.

        Raises:
            ContractMismatch: the server returns fewer classes than were asked for.
        """
        if isinstance(result, ServingError):
            self._failure(name, result)
        else:
            self._answer(name, result)
        if self.bar is not None:
            self.bar.update()

    def _answer(self, name: str, answer: Answer) -> None:
        returned = len(answer.class_ids)
        if self.top_k is not None and self.top_k > returned:
            raise ContractMismatch(
                f"--top-k {self.top_k}: the server returns {returned} classes for an image; "
                "ask for no more, or export the models with a larger top_k"
            )
        self.answered += 1
        top = zip(answer.class_ids, answer.labels, answer.scores, strict=True)
        classes = list(top)[: self.top_k or DEFAULT_TOP_K]
        if self.as_json:
            fields = [
                {"class_id": number, "label": label, "score": round(score, 6)}
                for number, label, score in classes
            ]
            self._write(self.out, json.dumps({"file": name, "classes": fields}))
            return
        lines = [f"  {score:.3f}  {label} ({number})" for number, label, score in classes]
        self._write(self.out, name, *lines)

    def _failure(self, name: str, error: ServingError) -> None:
        self.failed += 1
        self.exit_code = max(self.exit_code, error.exit_code)
        if self.as_json:
            cause = {"kind": error.label, "message": str(error)}
            self._write(self.out, json.dumps({"file": name, "error": cause}))
        self._write(self.err, f"{name}: {error.label}: {error}")

    def say(self, message: str) -> None:
        """A line of the program's own, beside the results."""
        self._write(self.err, f"tandem classify: {message}")

    def _write(self, stream: TextIO, *lines: str) -> None:
        text = "".join(printable(line, stream.encoding) + "\n" for line in lines)
        bar = self.bar if stream.isatty() else None  # a file or pipe is not in the bar's way
        with bar.external_write_mode(file=stream) if bar is not None else nullcontext():
            stream.write(text)
            stream.flush()


@contextmanager
def progress(total: int, err: TextIO) -> Iterator[tqdm[Any] | None]:
    """A bar over so many files, or None where nobody would look at one."""
    if total <= BAR_ABOVE_FILES or not err.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="file", file=err) as bar:
        yield bar

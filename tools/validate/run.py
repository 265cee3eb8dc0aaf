"""One run of the validator: what was asked for, looked at and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TextIO, TypeAlias

from ensemble.errors import ContractMismatch
from tools.validate.catalogue import Selection
from tools.validate.configurations import check_models, read_file, read_repository
from tools.validate.findings import Finding, Severity
from tools.validate.levels import levels_given, normalised
from tools.validate.options import ValidateOptions
from tools.validate.polled import Model
from tools.validate.releases import Release, installed, release
from tools.validate.report import FORMATS, ordered
from tools.validate.target import Target

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
Say: TypeAlias = Callable[[str], object]
"""Where progress goes; nowhere unless somebody is watching."""


def validate(options: ValidateOptions, out: TextIO, err: TextIO) -> int:
    """Print what was found.

    Returns:
        1 where there is an error, or a warning and ``strict``; 0 otherwise.

    Raises:
        ContractMismatch: something that was asked for is not there.
    """
    if options.fix is not None:
        return _fix(options, options.fix, out)
    selection = Selection(options.select, options.ignore)
    say = err.write if err.isatty() else lambda _: 0
    found = ordered([f for f in _collect(options, selection, say) if f.rule in selection])
    out.write(FORMATS[options.format](found).rstrip("\n") + "\n")
    bad = {Severity.ERROR, Severity.WARNING} if options.strict else {Severity.ERROR}
    return int(any(finding.rule.severity in bad for finding in found))


def _collect(options: ValidateOptions, selection: Selection, say: Say) -> Iterator[Finding]:
    """Everything that can be found, of the families that are wanted."""
    of = release(options.triton)
    major, minor, *_ = map(int, of.server.split("."))
    runs_in = installed() if options.target == "cpu" and selection.wants("O") else of
    memory_bytes = options.memory_mb * 10**6
    target = Target(options.target, (major, minor), options.slo_p95_ms)
    for path in options.configs:
        models, findings = read_file(path, target)
        yield from findings
        yield from check_models(models, together=False)
    for path in options.models:
        if not path.is_file():
            raise ContractMismatch(f"--model: expected a file, got {path}")
        if selection.wants("O"):
            yield from _onnx_file(path, runs_in, memory_bytes, say)
    if options.repository is not None:
        models, findings = read_repository(options.repository, target, options.profile)
        yield from findings
        yield from check_models(models)
        if selection.wants("O"):
            yield from _onnx(models, runs_in, memory_bytes, say)
        if selection.wants("P"):
            yield from _images(options, options.repository, levels_given(models), say)


def _onnx_file(path: Path, of: Release, memory_bytes: int, say: Say) -> Iterator[Finding]:
    from tools.validate.model import ModelUnderTest, check_model

    say(f"running {path} in batches\n")
    yield from check_model(ModelUnderTest(path, release=of, memory_bytes=memory_bytes))


def _onnx(
    models: Mapping[str, Model], of: Release, memory_bytes: int, say: Say
) -> Iterator[Finding]:
    """The ONNX file of every model that has one, against its configuration."""
    from tools.validate.model import ModelUnderTest, check_model

    for model in models.values():
        for version in model.served:
            name = model.filename if model.backend == "onnxruntime" else "model.onnx"
            path = _model_file(version / name)
            if path is not None:
                say(f"running {path} in batches\n")
                config = normalised(model.config, path)
                yield from check_model(
                    ModelUnderTest(path, config=config, release=of, memory_bytes=memory_bytes)
                )


def _model_file(path: Path) -> Path | None:
    """The file that the backend loads: in a folder of that name, ``model.onnx``, present or not.

    Source: LoadModel in onnxruntime.cc.
    """
    if path.is_dir():
        return path / "model.onnx"
    return path if path.is_file() else None


def _images(
    options: ValidateOptions, repository: Path, as_levels: bool, say: Say
) -> Iterator[Finding]:
    """What runs pictures: preprocessing against training's, then the whole chain."""
    from ensemble.transform import Transform
    from tools.validate.apart import check_chain_apart
    from tools.validate.parity.check import check_preprocessing
    from tools.validate.parity.comparison import ParityRequest

    images = options.images or (SAMPLES,)
    transform = repository / "preprocess" / "1" / "transform.json"
    if transform.is_file():
        say("comparing the pixels with those of training\n")
        request = ParityRequest(
            Transform.from_file(transform),
            options.reference,
            images,
            options.report,
            source=transform,
            as_levels=as_levels,
        )
        yield from check_preprocessing(request).findings
    say("running the stages in batches\n")
    yield from check_chain_apart(repository, images, options.memory_mb * 10**6)


def _fix(options: ValidateOptions, out_path: Path, out: TextIO) -> int:
    from tools.validate.model.mend import fix

    if len(options.models) != 1:
        raise ContractMismatch("--fix: expected one --model to mend")
    for change in fix(options.models[0], out_path, release(options.triton)):
        out.write(f"{out_path}: {change}\n")
    return 0

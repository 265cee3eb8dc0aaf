"""What lies in a model repository. R0 the server refuses or hangs on, R1 it accepts or ignores."""

from __future__ import annotations

from tools.validate.findings import Rule, Severity

_POLL = "Triton polls the folder when it loads the model (model_repository_manager.cc)."
_LIVE = " Seen on a live 2.51."


def _error(code: str, name: str, cause: str, mend: str, evidence: str = _POLL + _LIVE) -> Rule:
    return Rule(code, name, Severity.ERROR, cause, evidence, mend)


def _warning(code: str, name: str, cause: str, mend: str, evidence: str) -> Rule:
    return Rule(code, name, Severity.WARNING, cause, evidence, mend)


NO_VERSION = _error(
    "R001",
    "no-version",
    "The model has no version folder that would be served.",
    "Put the model into a folder 1, or correct version_policy.",
)
MODEL_FILE_MISSING = _error(
    "R002",
    "model-file-missing",
    "A version folder lacks the file that the backend loads.",
    "Copy the file, or correct default_model_filename.",
    "Each backend opens that file. On a live 2.51 a Python model without its model.py does not "
    "fail: the load hangs, and the server with it.",
)
LABELS_MISSING = _error(
    "R003",
    "label-file-missing",
    "The label file of an output is not in the model's folder.",
    "Copy it beside config.pbtxt, or correct label_filename.",
    "Triton opens it when it loads the model." + _LIVE,
)
MODEL_PY = _error(
    "R004",
    "model-py",
    "The Python model can't be loaded.",
    "Mend model.py: it must be valid Python and define a class TritonPythonModel.",
    "The Python backend's stub imports it when the model loads." + _LIVE,
)
NO_MODEL = _error(
    "R005",
    "no-model",
    "The repository has no model.",
    "Point at the folder that holds one folder a model.",
    "Triton starts with nothing to serve.",
)
NOT_READABLE = _error(
    "R006",
    "not-readable",
    "A file of the repository can't be read.",
    "Correct its owner, its mode, or the link.",
    "Triton reads it as the user that runs the server.",
)
VERSION_NUMBER = _error(
    "R007",
    "version-number",
    "A version folder has a number that Triton can't take.",
    "Count versions from 1.",
    "On a live 2.51 a number of 64 bits and more ends the server; -1 or 1a, which it reads as "
    "-1 and 1, hang it.",
)
VERSION_IGNORED = _warning(
    "R101",
    "version-ignored",
    "A folder looks like a version and Triton passes it over: versions are whole numbers without "
    "a leading zero.",
    "Rename it.",
    _POLL + _LIVE,
)
VERSION_NOT_THERE = _warning(
    "R102",
    "version-not-there",
    "version_policy asks for a version that has no folder; the others are served.",
    "Add the folder, or correct the list.",
    _POLL + " It logs an error and goes on." + _LIVE,
)
LABEL_COUNT = _warning(
    "R103",
    "label-count",
    "The number of labels is not the number of classes. Triton gives an empty label for a class "
    "beyond the last line, and a file that lacks a line shifts all that follow.",
    "One line a class, in the classes' order.",
    "Triton's LabelProvider reads line n as class n.",
)
LABEL_TEXT = _warning(
    "R104",
    "label-text",
    "A label line would be served as it stands: blank, with a carriage return, with a byte order "
    "mark, or with a column separator.",
    "One name a line, UTF-8, lines ended by a plain newline.",
    "Triton strips nothing from a line.",
)
LABEL_TWICE = _warning(
    "R105",
    "label-twice",
    "Two classes have the same label, so an answer by label does not tell which.",
    "Tell them apart, or have clients read the class number.",
    "Triton does not compare labels.",
)
CONFIG_MISPLACED = _warning(
    "R106",
    "config-misplaced",
    "A configuration has a name or a place that Triton does not look at.",
    "It reads <model>/config.pbtxt, and <model>/configs/<name>.pbtxt with --model-config-name.",
    _POLL,
)
NO_EXECUTE = _warning(
    "R107",
    "no-execute",
    "The Python model has no execute, so it loads and then fails every request.",
    "Define execute in TritonPythonModel.",
    "A live 2.51 loads it and calls it ready.",
)
OLD_VERSIONS = Rule(
    "R110",
    "versions-not-served",
    Severity.NOTE,
    "Some version folders are not served.",
    "Without a version_policy Triton serves the highest number only.",
    "Set version_policy { all { } } to serve them all.",
)
CONFIG_GENERATED = Rule(
    "R108",
    "config-generated",
    Severity.NOTE,
    "The model has no config.pbtxt. Triton makes one from the model file, where the backend can.",
    "With ONNX, dynamic_batching is then switched on, with max_batch_size 4 "
    "(onnxruntime.cc); with --disable-auto-complete-config the server refuses the model.",
    "Write a config.pbtxt: batching should be somebody's decision.",
)
BATCH_SIZE_GENERATED = Rule(
    "R109",
    "batch-size-generated",
    Severity.NOTE,
    "max_batch_size is not written, nor are all inputs and outputs. A model that could batch then "
    "gets 4, and dynamic_batching.",
    "The onnxruntime backend completes the configuration (onnxruntime.cc), unless the server runs "
    "with --disable-auto-complete-config.",
    "Write max_batch_size; 1 where the model must not batch.",
)

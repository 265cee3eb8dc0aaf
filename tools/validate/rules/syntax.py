"""The text of a ``config.pbtxt``."""

from __future__ import annotations

from tools.validate.findings import Rule, Severity

_READ = (
    "Triton reads the file with protobuf's text parser, which takes nothing it does not know. The "
    "load API then says only 'failed to poll from model repository'; the reason is in the log."
)

SYNTAX = Rule(
    "S001",
    "syntax",
    Severity.ERROR,
    "The text does not follow protobuf's text format.",
    _READ,
    "Look at the place that is named: a brace too many or too few, a comma at the end of a list, "
    "a missing colon before a value.",
)
UNKNOWN_FIELD = Rule(
    "S002",
    "unknown-field",
    Severity.ERROR,
    "A field stands where Triton has no field of that name.",
    _READ,
    "Use the name and the place that the message gives. If there is none, Triton has no such "
    "setting, whatever a guide says.",
)
WRONG_VALUE = Rule(
    "S003",
    "wrong-value",
    Severity.ERROR,
    "A value is not of the sort that its field takes.",
    _READ + " An enumeration is written without quotes; a number without a unit.",
    "Write a value of the sort that the message names.",
)
NEWER_FIELD = Rule(
    "S004",
    "newer-field",
    Severity.ERROR,
    "The field exists, but not in the Triton that this is meant for.",
    "The server compares the text with the fields of its own release; the wheel's 2.51 refuses "
    "model_metrics, which 2.52 brought.",
    "Deploy a newer Triton, or leave the field out. --triton names the release that is checked.",
)

"""Every error that Tandem raises on purpose, one class a cause.

The same word names the cause in code, on the wire and in metrics::

    ServingError
    ├── InvalidInput        INVALID_ARG   the caller's data is wrong; retrying can't help
    ├── Overloaded          UNAVAILABLE   a queue is full or a queue timeout ran out
    ├── ModelUnavailable    UNAVAILABLE   the server or a model does not answer
    ├── DeadlineExceeded    DEADLINE      the caller's own deadline passed
    ├── ContractMismatch    start-up only a model, label file or configuration does not fit
    ├── BackendFailure      INTERNAL      our side failed on good input
    └── CheckFailed         tools only    a check ran and found a fault

A message says what is wrong, what was expected and what was got. A traceback goes to the log,
never to the client.
"""

from __future__ import annotations


class ServingError(Exception):
    """Base of the tree; ``exit_code`` is what the command line ends with."""

    exit_code = 1
    triton_code = "INTERNAL"
    label = "serving_error"


class InvalidInput(ServingError):
    """The caller's data is wrong; sending it again cannot help."""

    triton_code = "INVALID_ARG"
    label = "invalid_input"


class Overloaded(ServingError):
    """The server refused the request to protect the ones that it has accepted."""

    triton_code = "UNAVAILABLE"
    label = "overloaded"


class ModelUnavailable(ServingError):
    """The server cannot be reached, or a model in it does not answer."""

    exit_code = 3
    triton_code = "UNAVAILABLE"
    label = "model_unavailable"


class DeadlineExceeded(ServingError):
    """The caller's deadline passed before an answer came."""

    triton_code = "UNAVAILABLE"
    label = "deadline_exceeded"


class ContractMismatch(ServingError):
    """A model, label file, transform or configuration does not fit the others."""

    exit_code = 2
    label = "contract_mismatch"


class BackendFailure(ServingError):
    """Our side failed on input that it accepted."""

    label = "backend_failure"


class CheckFailed(ServingError):
    """A check ran to its end and found a fault."""

    label = "check_failed"

"""``config.pbtxt`` text and Triton's own protobuf message, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format, text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from ensemble.errors import ContractMismatch


def from_fields(fields: Mapping[str, Any]) -> ModelConfig:
    """The message of nested dictionaries that use the proto's own field names.

    Raises:
        ContractMismatch: a field or value that Triton's proto does not have.
    """
    try:
        return json_format.ParseDict(dict(fields), ModelConfig())
    except json_format.ParseError as error:
        raise ContractMismatch(f"{fields.get('name')}: {error}") from error


def render(config: ModelConfig, comment: str) -> str:
    """Text that Triton reads, under a ``#`` comment."""
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + str(text_format.MessageToString(config))


def parse(text: str, source: str) -> ModelConfig:
    """The message in a ``config.pbtxt``.

    Raises:
        ContractMismatch: with source, line and column.
    """
    try:
        return text_format.Parse(text, ModelConfig())
    except text_format.ParseError as error:
        raise ContractMismatch(f"{source}:{error}") from error

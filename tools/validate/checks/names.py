"""What the numbers of the protobuf message are called."""

from __future__ import annotations

from typing import Any

from tritonclient.grpc.model_config_pb2 import DataType


def name_of(names: Any, number: int) -> str:
    """The name of a value of an enumeration; the number where it has none."""
    return str(names.Name(number)) if number in names.values() else str(number)


def type_name(number: int) -> str:
    """``TYPE_FP32`` and so on; a number that has no name as it is."""
    return name_of(DataType, number)

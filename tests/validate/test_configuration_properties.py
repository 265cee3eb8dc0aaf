"""Configurations that nobody wrote: rendered and read again, cut short, and shuffled."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tritonclient.grpc.model_config_pb2 import ModelConfig

from ensemble.errors import ServingError
from ensemble.pbtxt import parse, render
from ensemble.presets import read_toml
from tests.validate.checking import findings_in, findings_of
from tests.validate.corpus import cases
from tests.validate.corpus.base import BASE, MODEL
from tools.validate.checks.repository import label_file
from tools.validate.scan import scan

RUNS = 10_000
SEED = 20261130


def values(field: Any, depth: int) -> st.SearchStrategy[Any]:
    if field.message_type is not None:
        return messages(field.message_type, depth - 1)
    if field.enum_type is not None:
        return st.sampled_from([value.number for value in field.enum_type.values])
    return {
        field.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
        field.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
        field.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
        field.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
        field.CPPTYPE_BOOL: st.booleans(),
        field.CPPTYPE_STRING: st.text(max_size=8),
        field.CPPTYPE_FLOAT: st.floats(width=32, allow_nan=False),
        field.CPPTYPE_DOUBLE: st.floats(allow_nan=False),
    }[field.cpp_type]


@st.composite
def messages(draw: st.DrawFn, descriptor: Any, depth: int) -> dict[str, Any]:
    """A message as nested dictionaries, of a few fields."""
    plain = [field for field in descriptor.fields if field.message_type is None]
    known = list(descriptor.fields) if depth > 0 else plain
    if not known:
        return {}
    chosen = draw(st.lists(st.sampled_from(known), max_size=3, unique_by=lambda f: f.name))
    made: dict[str, Any] = {}
    oneofs: set[str] = set()
    for field in chosen:
        group = field.containing_oneof
        if group is not None and group.name in oneofs:
            continue
        if group is not None:
            oneofs.add(group.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        value = draw(values(field, depth))
        made[field.name] = [value] if field.is_repeated else value
    return made


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(messages(ModelConfig.DESCRIPTOR, 4))
def test_what_is_rendered_is_read_back_and_placed(fields: dict[str, Any]) -> None:
    config = ModelConfig(**fields)
    text = render(config, "a comment")
    assert parse(text, "x") == config
    walked = scan(text, ModelConfig.DESCRIPTOR)
    assert walked.faults == []
    lines = text.split("\n")
    for path, (line, column) in walked.positions.items():
        name = path.rpartition(".")[2].partition("[")[0]
        assert lines[line - 1][column - 1 :].startswith(name)


@pytest.mark.parametrize("case", [c for c in cases() if c.name.startswith("ens_w")])
def test_every_cut_of_a_good_text_is_judged(case: Any, tmp_path: Path) -> None:
    text = case.files[f"{case.name}/config.pbtxt"]
    for end in range(len(text)):
        findings_of(text[:end], tmp_path)


def mangled(rng: random.Random, text: str) -> bytes:
    """A text with a few bytes changed, cut, doubled or from anywhere."""
    data = bytearray(text.encode("utf-8", "surrogateescape"))
    for _ in range(rng.randint(1, 4)):
        at, upto = sorted(rng.choices(range(len(data) + 1), k=2))
        change = rng.randint(0, 4)
        if change == 0:
            del data[at:upto]
        elif change == 1:
            data[at:at] = data[at:upto]
        elif change == 2:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif change == 3:
            data[at:at] = rng.choice([b"{", b"}", b"[", b"]", b'"', b"<", b"\0", b"-", b":"]) * 3
        else:
            data = data[:at]
    return bytes(data)


def test_mangled_configurations_never_raise(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    texts = [t for case in cases() for n, t in case.files.items() if n.endswith(".pbtxt")]
    path = tmp_path / "m" / "config.pbtxt"
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "model.py").write_text(MODEL, encoding="utf-8")
    for _ in range(RUNS):
        path.write_bytes(mangled(rng, rng.choice(texts)))
        findings_in(tmp_path)


def test_nesting_without_end_never_raises(tmp_path: Path) -> None:
    for text in ("dynamic_batching {" * 5000, "[" * 5000, BASE + "input " * 5000, "a < " * 5000):
        assert findings_of(text, tmp_path)


def test_random_labels_and_transforms_never_raise(tmp_path: Path) -> None:
    rng = np.random.default_rng(SEED)
    path = tmp_path / "any"
    toml = b"resize_shorter = 256\nmean = [0, 0, 0]\nstd = [1, 1, 1]\n"
    for n in range(RUNS // 10):
        data = rng.integers(256, size=rng.integers(200), dtype=np.uint8).tobytes()
        path.write_bytes(data)
        list(label_file(path, int(rng.integers(-1, 5))))
        path.write_bytes(toml[: n % len(toml)] + data[:5] + toml[n % len(toml) :])
        with contextlib.suppress(ServingError):
            read_toml(path)

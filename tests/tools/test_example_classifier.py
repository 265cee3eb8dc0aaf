"""The example classifier: the same bytes everywhere, right answers, and a reader that is strict."""

from __future__ import annotations

import hashlib
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from PIL import Image

from ensemble.errors import ContractMismatch
from tools.example import efficientnet_lite0
from tools.example.weights import MAGIC, PROTOCOL, read_state_dict

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
LABELS = ROOT / "model_repository" / "postprocess" / "1" / "labels.txt"

# The kernels may add the 1280 terms of a logit in another order for another batch size. Logits
# stay below 20, float32 keeps 1.2e-7 of that, and rounding grows with the root of the terms:
# 20 * 1.2e-7 * 36 is 9e-5. The pictures themselves are more than 1 apart.
LOGIT_TOLERANCE = 1e-4

Pixels = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("classifier") / "1" / "model.onnx"
    efficientnet_lite0.build(path)
    return path


@pytest.fixture(scope="module")
def session(model: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def pixels(name: str) -> Pixels:
    """A sample as the classifier wants it, made with Pillow alone."""
    image = Image.open(SAMPLES / name).convert("RGB")
    scale = 256 / min(image.size)
    width, height = (int(side * scale + 0.5) for side in image.size)
    image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - 224) // 2, (height - 224) // 2
    levels = np.asarray(image.crop((left, top, left + 224, top + 224)), np.float32)
    return ((levels - np.float32(127)) / np.float32(128)).transpose(2, 0, 1)


def logits(session: Any, batch: Pixels) -> npt.NDArray[np.float32]:
    (answer,) = session.run(["LOGITS"], {"PIXELS": batch})
    return np.asarray(answer)


# --- the file


def test_the_built_file_has_the_committed_hash(model: Path) -> None:
    got = hashlib.sha256(model.read_bytes()).hexdigest()
    assert got == efficientnet_lite0.MODEL_SHA256


def test_the_model_is_valid_and_names_no_version(model: Path) -> None:
    proto = onnx.load(model)
    onnx.checker.check_model(proto, full_check=True)
    assert (proto.ir_version, proto.producer_name, proto.producer_version) == (8, "tandem", "")
    assert [(entry.domain, entry.version) for entry in proto.opset_import] == [("", 17)]


def test_the_tensors_are_those_of_the_contract(session: Any) -> None:
    (source,), (answer,) = session.get_inputs(), session.get_outputs()
    assert (source.name, source.type) == ("PIXELS", "tensor(float)")
    assert source.shape == ["batch", 3, 224, 224]
    assert (answer.name, answer.type) == ("LOGITS", "tensor(float)")
    assert answer.shape == ["batch", 1000]


def test_ensure_leaves_a_right_file_alone(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model.stat()
    monkeypatch.setattr(efficientnet_lite0, "_model_bytes", lambda: pytest.fail("built again"))
    assert efficientnet_lite0.ensure(model) == model
    assert (model.stat().st_ino, model.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_ensure_mends_a_damaged_file(model: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "model.onnx"
    data = bytearray(model.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    assert efficientnet_lite0.ensure(damaged).read_bytes() == model.read_bytes()
    assert list(tmp_path.iterdir()) == [damaged]


def test_ensure_makes_missing_folders(model: Path, tmp_path: Path) -> None:
    path = efficientnet_lite0.ensure(tmp_path / "classifier" / "1" / "model.onnx")
    assert path.read_bytes() == model.read_bytes()


def test_ensure_never_writes_other_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(efficientnet_lite0, "_model_bytes", lambda: b"another model")
    got = hashlib.sha256(b"another model").hexdigest()
    expected = efficientnet_lite0.MODEL_SHA256
    with pytest.raises(ContractMismatch, match=f"expected SHA-256 {expected}, got {got}"):
        efficientnet_lite0.ensure(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    got = efficientnet_lite0.WEIGHTS_SHA256
    monkeypatch.setattr(efficientnet_lite0, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(ContractMismatch, match=f"weights.*expected SHA-256 0+, got {got}"):
        efficientnet_lite0.build(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        efficientnet_lite0.build(path)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [
        ("model.onnx", b"old")
    ]


# --- the network


@pytest.mark.parametrize(
    ("side_px", "kernel", "stride", "padding"),
    [
        (224, 3, 2, (0, 1)),  # lopsided: the odd pixel goes after
        (28, 5, 2, (1, 2)),
        (7, 3, 2, (1, 1)),
        (14, 5, 1, (2, 2)),
        (7, 1, 1, (0, 0)),
    ],
)
def test_same_padding(side_px: int, kernel: int, stride: int, padding: tuple[int, int]) -> None:
    assert efficientnet_lite0.same_padding(side_px, kernel, stride) == padding


def test_a_weight_of_another_shape_is_refused() -> None:
    state: dict[str, npt.NDArray[Any]] = {"_fc.bias": np.zeros(10, np.float32)}
    with pytest.raises(ContractMismatch, match=r"_fc.bias: expected shape \(1000,\), got \(10,\)"):
        efficientnet_lite0._weight(state, "_fc.bias", (1000,))
    with pytest.raises(ContractMismatch, match=r"_fc.weight: .*got no such tensor"):
        efficientnet_lite0._weight(state, "_fc.weight", (1000, 1280))


def test_folding_equals_batch_norm_after_convolution() -> None:
    """With a 1x1 convolution on one pixel, both sides are a few products."""
    rng = np.random.default_rng(1)
    parts = ("weight", "bias", "running_mean", "running_var")
    state: dict[str, npt.NDArray[Any]] = {f"n.{part}": rng.uniform(0.5, 2, 4) for part in parts}
    state["c.weight"] = rng.normal(size=(4, 3, 1, 1))
    weight, bias = efficientnet_lite0._folded(state, efficientnet_lite0._Conv("c", "n", 4), 3)
    x = rng.normal(size=3)
    plain = state["c.weight"][:, :, 0, 0] @ x
    normal = (plain - state["n.running_mean"]) / np.sqrt(state["n.running_var"] + 1e-3)
    expected = normal * state["n.weight"] + state["n.bias"]
    # A dozen float64 operations on numbers of about 1.
    np.testing.assert_allclose(weight[:, :, 0, 0] @ x + bias, expected, rtol=0, atol=1e-13)


def test_a_batch_answers_like_each_picture_alone(session: Any) -> None:
    names = ("chelsea.png", "coffee.png", "rocket.jpg", "coffee.png", "chelsea.png")
    batch = np.stack([pixels(name) for name in names])
    alone = np.concatenate([logits(session, image[np.newaxis]) for image in batch])
    together = logits(session, batch)
    assert together.shape == (5, 1000)
    np.testing.assert_allclose(together, alone, rtol=0, atol=LOGIT_TOLERANCE)
    assert np.abs(together[0] - alone[1]).max() > 1  # another picture would be seen


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("chelsea.png", {281: "tabby", 282: "tiger cat", 285: "Egyptian cat"}),
        ("coffee.png", {967: "espresso"}),
        ("rocket.jpg", {657: "missile"}),
    ],
)
def test_the_photographs_get_their_classes(session: Any, name: str, right: dict[int, str]) -> None:
    best = int(logits(session, pixels(name)[np.newaxis])[0].argmax())
    label = LABELS.read_text(encoding="utf-8").split("\n")[best]
    assert right.get(best) == label


# --- the labels


def test_labels_are_1000_different_names() -> None:
    text = LABELS.read_bytes().decode("utf-8")
    assert text.endswith("\n")
    assert "\r" not in text
    names = text[:-1].split("\n")
    assert len({name.casefold() for name in names}) == len(names) == 1000
    assert all(name and name == name.strip() for name in names)
    chosen = {0: "tench", 134: "crane (bird)", 207: "golden retriever", 517: "crane (machine)"}
    assert {index: names[index] for index in chosen} == chosen
    assert names[999] == "toilet tissue"


# --- the reader of weights: tiny files, made opcode by opcode


def plain(value: object) -> bytes:
    """The opcodes that put a plain value on the pickle's stack."""
    return pickle.dumps(value, 2)[2:-1]


def named(module: str, name: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def called(function: bytes, *arguments: bytes) -> bytes:
    return function + pickle.MARK + b"".join(arguments) + pickle.TUPLE + pickle.REDUCE


def tensor(elements: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    where = [plain(value) for value in ("key", "cpu", elements, None)]
    parts = [plain("storage"), named("torch", "FloatStorage"), *where]
    storage = pickle.MARK + b"".join(parts) + pickle.TUPLE + pickle.BINPERSID
    hooks = called(named("collections", "OrderedDict"))
    rest = [plain(value) for value in (offset, shape, strides, False)]
    return called(named("torch._utils", "_rebuild_tensor_v2"), storage, *rest, hooks)


def write(path: Path, value: bytes, elements: int = 24, magic: int = MAGIC) -> Path:
    """A file with one tensor, ``t``, in a storage of 0.0, 1.0, 2.0, …"""
    start = pickle.PROTO + b"\x02"
    state = start + pickle.EMPTY_DICT + plain("t") + value + pickle.SETITEM + pickle.STOP
    head = b"".join(pickle.dumps(v, 2) for v in (magic, PROTOCOL, {"little_endian": True}))
    numbers = np.arange(elements, dtype="<f4").tobytes()
    keys = pickle.dumps(["key"], 2)
    path.write_bytes(head + state + keys + struct.pack("<q", elements) + numbers)
    return path


NUMBERS = np.arange(24, dtype=np.float32)


@pytest.mark.parametrize(
    ("offset", "shape", "strides", "expected"),
    [
        (0, (2, 12), (12, 1), NUMBERS.reshape(2, 12)),
        (0, (4, 6), (1, 4), NUMBERS.reshape(6, 4).T),
        (0, (2, 3, 2, 2), (12, 1, 6, 3), NUMBERS.reshape(2, 2, 2, 3).transpose(0, 3, 1, 2)),
        (5, (3,), (7,), NUMBERS[5::7]),
        (0, (3, 2), (0, 1), np.broadcast_to(NUMBERS[:2], (3, 2))),
        (23, (), (), NUMBERS[23].reshape(())),
        (24, (0, 5), (5, 1), np.empty((0, 5), np.float32)),
    ],
    ids=["plain", "transposed", "channels last", "offset", "expanded", "scalar", "empty"],
)
def test_strides_are_honoured(
    tmp_path: Path, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], expected: Pixels
) -> None:
    (item,) = read_state_dict(write(tmp_path / "w", tensor(24, offset, shape, strides))).items()
    name, got = item
    assert name == "t"
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, expected, strict=True)


def test_a_foreign_name_is_refused_and_never_called(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    value = called(named("io", "open"), plain(str(trap)), plain("w"))
    with pytest.raises(ContractMismatch, match=r"expected one of collections.*; got io\.open"):
        read_state_dict(write(tmp_path / "w", value))
    assert not trap.exists()


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [(1, (24,), (1,)), (0, (2, 2), (23, 1)), (-1, (2,), (1,)), (3, (2,), (-1,)), (0, (2, 2), (1,))],
)
def test_a_tensor_beside_its_storage_is_refused(
    tmp_path: Path, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    with pytest.raises(ContractMismatch, match="t: expected to lie within 24 elements, got offset"):
        read_state_dict(write(tmp_path / "w", tensor(24, offset, shape, strides)))


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "w", tensor(24, 0, (24,), (1,))).read_bytes()
    cut = tmp_path / "cut"
    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        with pytest.raises(ContractMismatch, match=r"cut: .*expected .*got "):
            read_state_dict(cut)


def test_other_contents_are_refused(tmp_path: Path) -> None:
    good = tensor(24, 0, (24,), (1,))
    with pytest.raises(ContractMismatch, match=f"magic number: expected {MAGIC}, got 7"):
        read_state_dict(write(tmp_path / "w", good, magic=7))
    with pytest.raises(ContractMismatch, match="t: expected a tensor, got int"):
        read_state_dict(write(tmp_path / "w", plain(3)))
    with pytest.raises(ContractMismatch, match="elements of storage key: expected 24, got 23"):
        read_state_dict(write(tmp_path / "w", good, elements=23))

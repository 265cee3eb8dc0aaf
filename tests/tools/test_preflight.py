"""What a machine lacks is said before anything starts, and so is the mend."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment
from tools.environment import Machine
from tools.export import write_texts
from tools.serve import preflight
from tools.serve.options import ServeOptions
from tools.serve.ports import free_ports
from tools.serve.preflight import check_machine, check_repository, needed_shared_memory_bytes
from tools.serve.serve import ServeRequest, serve
from tools.serve.token_file import token_of

CPU = Deployment(target="cpu")
MIB = 1 << 20


@pytest.fixture
def options() -> ServeOptions:
    return with_ports(*free_ports(3))


def with_ports(http: int, grpc: int, metrics: int) -> ServeOptions:
    return ServeOptions(Path(), "", "", http_port=http, grpc_port=grpc, metrics_port=metrics)


@pytest.fixture(autouse=True)
def good_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test takes one thing away."""
    has(monkeypatch, Machine())
    has_shared_memory(monkeypatch, 10_000 * MIB)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def has(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    monkeypatch.setattr(preflight, "this_machine", lambda: machine)


def has_shared_memory(monkeypatch: pytest.MonkeyPatch, free_bytes: int) -> None:
    def statvfs(path: Path) -> SimpleNamespace:
        assert path == preflight.SHARED_MEMORY
        return SimpleNamespace(f_bavail=free_bytes // 4096, f_frsize=4096)

    monkeypatch.setattr(os, "statvfs", statvfs)


def faults(options: ServeOptions, deployment: Deployment = CPU) -> list[str]:
    with pytest.raises(ContractMismatch) as found:
        check_machine(options, deployment)
    assert found.value.exit_code == 2
    first, *lines = str(found.value).splitlines()
    assert first == "this machine can't serve yet:"
    return [line.strip() for line in lines]


def test_a_good_machine_passes(options: ServeOptions) -> None:
    check_machine(options, CPU)


# Ports


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_taken_port(taken_port: int, at: int) -> None:
    ports = free_ports(3)
    ports[at] = taken_port
    (fault,) = faults(with_ports(*ports))
    kind = ("http", "grpc", "metrics")[at]
    assert f"127.0.0.1:{taken_port}: Address already in use" in fault
    assert f"stop what uses it, or give another --{kind}-port" in fault


def test_one_port_for_two() -> None:
    one, other = free_ports(2)
    (fault,) = faults(with_ports(one, other, one))
    assert "expected three different ports" in fault


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_a_port_that_can_t_be(port: int) -> None:
    (fault,) = faults(with_ports(port, *free_ports(2)))
    assert fault == f"--http-port: expected 1 to 65535, got {port}"


def test_an_address_of_another_machine(options: ServeOptions) -> None:
    away = replace(options, address="192.0.2.1")  # RFC 5737: nobody's
    for fault in faults(away):
        assert "can't listen on 192.0.2.1" in fault


def test_an_address_that_is_none(options: ServeOptions) -> None:
    (fault,) = faults(replace(options, address="no such host"))
    assert fault.startswith("--address no such host: expected an address of this machine")


# Shared memory


def test_shared_memory_that_is_too_small(
    options: ServeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_shared_memory(monkeypatch, 64 * MIB)  # Docker's default
    (fault,) = faults(options)
    needed = needed_shared_memory_bytes(CPU) // MIB
    assert f"/dev/shm: expected {needed} MiB free for batches of 64, got 64" in fault
    assert f"--shm-size={needed}m, or take a smaller --max-batch-size or --instances" in fault


def test_shared_memory_that_is_not_there(
    options: ServeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def statvfs(path: Path) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "statvfs", statvfs)
    (fault,) = faults(options)
    assert "got 0: give the container --shm-size=" in fault


def test_the_mend_mends(options: ServeOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Just what is needed is enough, and so is a smaller batch."""
    has_shared_memory(monkeypatch, needed_shared_memory_bytes(CPU))
    check_machine(options, CPU)
    has_shared_memory(monkeypatch, needed_shared_memory_bytes(CPU) - MIB)
    assert faults(options)
    check_machine(options, Deployment(target="cpu", max_batch_size=32))


def test_full_batches_of_pixels_fit() -> None:
    """64 x 3 x 224 x 224 levels leave each preprocess and enter each classifier."""
    four = Deployment(target="cpu", instances=4)  # and four of preprocess
    pixels = 64 * 3 * 224 * 224
    assert needed_shared_memory_bytes(four) - needed_shared_memory_bytes(CPU) == 6 * pixels
    assert needed_shared_memory_bytes(CPU) > 2 * pixels


# The machine


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (
            Machine(has_libpython=False, has_apt=True),
            "lacks libpython3.11.so.1.0: sudo apt-get install libpython3.11",
        ),
        (
            Machine(has_libpython=False, has_apt=False),
            "lacks libpython3.11.so.1.0: install it, or choose another Python",
        ),
        (
            Machine(glibc=(2, 31)),
            "expects glibc 2.35 or later (Ubuntu 22.04, Debian 12), got 2.31",
        ),
        (Machine(glibc=None), "expects glibc 2.35 or later (Ubuntu 22.04, Debian 12), got another"),
        (Machine(processor="aarch64"), "expects Linux on x86_64, got Linux on aarch64"),
        (Machine(system="Darwin"), "expects Linux on x86_64, got Darwin on x86_64"),
    ],
)
def test_a_machine_that_the_server_can_t_run_on(
    options: ServeOptions, machine: Machine, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    has(monkeypatch, machine)
    (fault,) = faults(options)
    assert said in fault


def test_what_only_set_up_needs_is_not_asked_for(
    options: ServeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A .venv that virtualenv or uv made does without ensurepip."""
    has(monkeypatch, Machine(has_ensurepip=False))
    check_machine(options, CPU)


def test_a_container_s_server_brings_its_own_libraries(
    options: ServeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    has(monkeypatch, Machine(glibc=(2, 31), has_libpython=False))
    check_machine(options, Deployment(target="gpu"))


def test_all_faults_are_said_at_once(taken_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, Machine(glibc=(2, 31)))
    has_shared_memory(monkeypatch, 0)
    found = faults(with_ports(taken_port, *free_ports(2)))
    for fault, word in zip(found, ("--http-port", "--shm-size", "glibc"), strict=True):
        assert word in fault


# The token


def test_a_token_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    made = token_of(tmp_path / "token")
    assert len(made) == 32
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert token_of(tmp_path / "token") == made


@pytest.mark.parametrize("text", ["", "\n", "two words", "short"])
def test_a_token_that_is_no_lock_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(ContractMismatch, match=r"--token-file .*: expected one word of at least 8"):
        token_of(tmp_path / "token")


def test_a_token_file_that_can_t_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe" * 8)
    for file in (tmp_path / "missing" / "token", tmp_path, tmp_path / "binary"):
        with pytest.raises(ContractMismatch, match=f"--token-file {file}: "):
            token_of(file)


def test_a_repository_that_triton_would_not_load_is_told_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    config = tmp_path / "m" / "config.pbtxt"
    config.write_text('backend: "python"\nmax_batch_size: 8\nbatching { }\n', encoding="utf-8")
    with pytest.raises(ContractMismatch) as caught:
        check_repository(tmp_path, "interactive")
    said = str(caught.value)
    assert f"{config}:3:1: S002 batching is not a field" in said
    assert "R002 expected model.py, got nothing" in said


def test_a_rendered_repository_passes(tmp_path: Path) -> None:
    write_texts(Deployment(target="cpu"), tmp_path)
    for model in ("preprocess", "classifier", "postprocess"):
        folder = tmp_path / model / "1"
        folder.mkdir(exist_ok=True)
        (folder / "model.py").write_text("class TritonPythonModel:\n    def execute(self): ...\n")
    (tmp_path / "ensemble" / "1").mkdir()
    check_repository(tmp_path, "interactive")


@pytest.mark.parametrize("repository", ["no", "yes"])
def test_a_repository_needs_the_model_that_is_asked(repository: str, tmp_path: Path) -> None:
    (tmp_path / "yes" / "resnet").mkdir(parents=True)
    request = ServeRequest(
        Deployment(target="cpu"), ServeOptions(Path(), "", ""), tmp_path / repository
    )
    with pytest.raises(ContractMismatch, match=f"--repository {tmp_path / repository}: expected a"):
        serve(request, say=print)

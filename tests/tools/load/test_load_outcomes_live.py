"""Every outcome, provoked over both protocols where it exists; and nothing is lost."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.fakes.load_server import LAST, REFUSALS, LoadServer, load_server
from tools.load.generator import Generator
from tools.load.loads import ClosedLoop, OpenLoop, RequestClass, Run
from tools.record.samples import OUTCOMES
from tools.serve.ports import free_ports

COUNT = 5
MIX = (RequestClass([b"image"]),)
PROTOCOLS = ("grpc", "http")


def run_of(protocol: str, address: str, model: str, timeout_s: float = 5.0) -> Run:
    load = OpenLoop(np.arange(COUNT) / 1000)
    return Run(protocol, address, model, load, COUNT / 1000, MIX, timeout_s=timeout_s)


@pytest.fixture
def deaf() -> Iterator[str]:
    """Takes connections, as the kernel does for a process that is stopped, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_counted_by_its_cause(
    generator: Generator, stub: LoadServer, protocol: str, name: str
) -> None:
    samples = generator.run(run_of(protocol, stub.addresses[protocol], name)).samples
    assert samples.errors() == {name: COUNT}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_is_ok(generator: Generator, stub: LoadServer, protocol: str) -> None:
    samples = generator.run(run_of(protocol, stub.addresses[protocol], "at_once")).samples
    assert (samples.errors(), len(samples)) == ({}, COUNT)


def test_nothing_is_compressed_and_no_other_server_is_asked(
    generator: Generator, stub: LoadServer
) -> None:
    samples = generator.run(run_of("http", stub.addresses["http"], "moved")).samples
    assert samples.errors() == {"internal": COUNT}  # a 307; 503 would be unavailable


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_answer_is_a_deadline(generator: Generator, stub: LoadServer, protocol: str) -> None:
    samples = generator.run(run_of(protocol, stub.addresses[protocol], "silent", 0.2)).samples
    assert samples.errors() == {"deadline": COUNT}
    assert (samples.latency_s >= 0.19).all()  # its clock and ours are two


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_port_that_only_listens_is_a_deadline(
    generator: Generator, deaf: str, protocol: str
) -> None:
    samples = generator.run(run_of(protocol, deaf, "at_once", 0.3)).samples
    assert samples.errors() == {"deadline": COUNT}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_no_server_is_the_network(generator: Generator, protocol: str, host: str) -> None:
    address = f"{host}:{free_ports(1)[0]}"
    samples = generator.run(run_of(protocol, address, "at_once")).samples
    assert samples.errors() == {"network": COUNT}


def test_a_cut_answer_is_the_network(generator: Generator, stub: LoadServer) -> None:
    samples = generator.run(run_of("http", stub.addresses["http"], "cuts")).samples
    assert samples.errors() == {"network": COUNT}


def test_a_server_that_keeps_no_connection_is_still_answered(
    generator: Generator, stub: LoadServer
) -> None:
    samples = generator.run(run_of("http", stub.addresses["http"], "hangs_up")).samples
    assert samples.errors() == {}


def test_the_wrong_protocol_is_no_answer(generator: Generator, stub: LoadServer) -> None:
    for protocol, other in zip(PROTOCOLS, reversed(PROTOCOLS), strict=True):
        run = run_of(protocol, stub.addresses[other], "at_once", 0.5)
        assert not generator.run(run).samples.served.any()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_dies_leaves_rows_of_the_network(generator: Generator, protocol: str) -> None:
    with load_server() as doomed:
        load = OpenLoop(np.arange(60) / 100)
        run = Run(protocol, doomed.addresses[protocol], "dies", load, 0.6, MIX)
        samples = generator.run(run).samples
        closed = generator.run(replace(run, loop=ClosedLoop(2), duration_s=0.2)).samples
    assert len(samples) == 60
    assert set(samples.errors()) == {"network"}
    assert 0 < samples.served.sum() < LAST
    assert not samples.served[LAST:].any()
    assert set(closed.errors()) == {"network"}
    assert len(closed) <= 6  # a pause between two tries, or a dead server is a busy loop


def test_every_outcome_is_provoked_here() -> None:
    assert {"ok", "network", *REFUSALS} == set(OUTCOMES)

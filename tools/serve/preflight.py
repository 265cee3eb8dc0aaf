"""What this machine lacks, said with the mend before anything is started."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ensemble.errors import ContractMismatch
from ensemble.model_config import Deployment
from tools.environment import obstacle, this_machine
from tools.serve.options import ServeOptions

SHARED_MEMORY = Path("/dev/shm")
_SLACK_BYTES = 64 * 1024 * 1024


def check_machine(options: ServeOptions, deployment: Deployment) -> None:
    """Check everything at once, so that one run names all that is missing.

    Raises:
        ContractMismatch: one line a fault, each with its mend.
    """
    faults = [*_ports(options), *_shared_memory(deployment)]
    if deployment.target == "cpu":
        machine = replace(this_machine(), has_ensurepip=True)  # that is for making a .venv
        faults += filter(None, [obstacle(machine)])
    if faults:
        raise ContractMismatch("this machine can't serve yet:\n  " + "\n  ".join(faults))


def check_repository(repository: Path, profile: str) -> None:
    """Check a user's own repository, which Triton would refuse without saying why, or hang on.

    Raises:
        ContractMismatch: one line a fault.
    """
    from tools.validate.configurations import check_models, read_repository
    from tools.validate.findings import errors
    from tools.validate.target import Target

    models, findings = read_repository(repository, Target("cpu"), profile)
    faults = [
        f"{found.place}: {found.rule.code} {found.message}"
        for found in errors((*findings, *check_models(models)))
    ]
    if faults:
        raise ContractMismatch(
            "Triton would not load this repository ('tandem validate --target cpu' tells more):\n  "
            + "\n  ".join(faults)
        )


def _ports(options: ServeOptions) -> Iterator[str]:
    ports = {
        "--http-port": options.http_port,
        "--grpc-port": options.grpc_port,
        "--metrics-port": options.metrics_port,
    }
    if len(set(ports.values())) < len(ports):
        yield f"expected three different ports, got {ports}"
        return
    try:
        socket.getaddrinfo(options.address, None)
    except (OSError, UnicodeError) as error:
        yield f"--address {options.address}: expected an address of this machine, got {error}"
        return
    for flag, port in ports.items():
        if not 1 <= port <= 65535:
            yield f"{flag}: expected 1 to 65535, got {port}"
            continue
        try:
            _bind(options.address, port)
        except OSError as error:
            yield (
                f"can't listen on {options.address}:{port}: {error.strerror}; "
                f"stop what uses it, or give another {flag}"
            )


def _bind(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(1)


def needed_shared_memory_bytes(deployment: Deployment) -> int:
    """What full batches take: PIXELS leave preprocess and enter a Python classifier."""
    height_width = deployment.transform.crop_height * deployment.transform.crop_width
    batch_bytes = deployment.max_batch_size * 3 * height_width  # a byte a level
    crossing = deployment.target == "cpu" and not deployment.fused
    return _SLACK_BYTES + (2 * deployment.instances if crossing else 0) * batch_bytes


def _shared_memory(deployment: Deployment) -> Iterator[str]:
    needed = needed_shared_memory_bytes(deployment)
    try:
        stat = os.statvfs(SHARED_MEMORY)
        free = stat.f_bavail * stat.f_frsize
    except OSError:
        free = 0
    if free < needed:
        yield (
            f"{SHARED_MEMORY}: expected {needed >> 20} MiB free for batches of "
            f"{deployment.max_batch_size}, got {free >> 20}: give the container "
            f"--shm-size={needed >> 20}m, or take a smaller --max-batch-size or --instances"
        )

"""What is measured: servers of our own, started for it, and servers that run already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from ensemble.errors import ContractMismatch, ServingError
from ensemble.model_config import Deployment
from ensemble.profiles import PROFILES
from tools.client.address import host_port
from tools.record.record import Target
from tools.serve import temporary
from tools.serve.options import ServeOptions
from tools.serve.preflight import check_repository
from tools.serve.process import ServerProcess
from tools.serve.serve import ServeRequest
from tools.statistics.configuration import read_config
from tools.statistics.counters import Model, read_counters
from tools.statistics.http import get_json, in_brief
from tools.statistics.metrics import read_metrics

AS_IT_IS = "as-it-is"
"""A repository with its ``config.pbtxt``, no profile of ``configs/``."""
GPU_METRICS = ("--metrics-interval-ms=500",)
"""Triton looks at its GPUs every 2 s unless told, which is half a cell."""


@dataclass(frozen=True)
class Own:
    """A server that is to be started.

    Attributes:
        name: unique among the targets, see ``named_apart``.
        profile: of its batching settings.
        deployment: what is rendered, and which server runs it.
        repository: a user's, instead of a rendered one.
    """

    name: str
    profile: str
    deployment: Deployment
    repository: Path | None = None


@dataclass(frozen=True)
class Endpoint:
    """A server that runs.

    Attributes:
        name: unique among the targets, see ``named_apart``.
        http_url: with scheme, without a slash at the end.
        grpc: host and port.
        metrics_url: of Prometheus; None: there is none.
        profile: None where the server is somebody else's.
        process: None where it is somebody else's.
    """

    name: str
    http_url: str
    grpc: str
    metrics_url: str | None = None
    profile: str | None = None
    process: ServerProcess | None = None

    def address(self, protocol: str) -> str:
        """Host and port."""
        return self.grpc if protocol == "grpc" else self.http_url.removeprefix("http://")

    def check_alive(self) -> None:
        """Nothing, while the server lives.

        Raises:
            ServingError: it has ended, with what its log says, or does not answer.
        """
        code = None if self.process is None else self.process.exit_code()
        if self.process is not None and code is not None:
            raise self.process.failure(f"{self.name}: the server ended with code {code}")
        get_json(f"{self.http_url}/v2")


@dataclass(frozen=True)
class Subject:
    """A server that runs, and what is measured on it.

    Attributes:
        endpoint: where it is.
        target: for the record.
        models: whose statistics are read, the one that is called last; none of a server that keeps
            them to itself.
        silence: why they are not read.
    """

    endpoint: Endpoint
    target: Target
    models: tuple[str, ...]
    silence: str | None = None

    @property
    def max_batch_size(self) -> int:
        """The most images of one request; 1 where a model takes no batch or does not say."""
        sizes = (int(one.get("max_batch_size", 0)) for one in self.target.configurations.values())
        return max(1, min(sizes, default=1))


def own_targets(
    profiles: Sequence[str], deployment: Deployment, repository: Path | None = None
) -> list[Own]:
    """One target a profile, and of its name.

    Args:
        profiles: names; of a user's repository, files of its ``configs/``.
        deployment: what is rendered, whatever its own profile.
        repository: a user's; None: ours.

    Raises:
        ContractMismatch: there is no such profile, or no such repository.
    """
    if repository is None:
        known = set(PROFILES)
    elif not repository.is_dir():
        raise ContractMismatch(f"--repository {repository}: expected a folder")
    else:
        known = {file.stem for file in repository.glob("*/configs/*.pbtxt")}
    for profile in profiles:
        if profile not in known:  # Triton would take config.pbtxt and say nothing
            names = ", ".join(sorted(known)) or "none, as there is no configs/*.pbtxt"
            raise ContractMismatch(f"--profiles {profile}: expected one of {names}")
    if repository is not None and not profiles:
        return [Own(AS_IT_IS, AS_IT_IS, deployment, repository)]
    return [Own(one, one, _with_profile(deployment, one), repository) for one in profiles]


def _with_profile(deployment: Deployment, profile: str) -> Deployment:
    """A user's repository has profiles of its own."""
    return replace(deployment, profile=profile) if profile in PROFILES else deployment


def foreign_target(text: str) -> Endpoint:
    """A server that runs already: ``[NAME=]HOST:PORT[,grpc=PORT][,metrics=PORT]``.

    The port is HTTP's. As with Triton's own ports, gRPC is one above unless said, metrics two. Each
    may be a whole ``host:port`` as well.

    Raises:
        ContractMismatch: it is something else.
    """
    where, *settings = text.split(",")
    name, _, url = where.rpartition("=")
    if not url:
        raise ContractMismatch(f"--url {text}: expected [NAME=]HOST:PORT")
    address = host_port("http", url)
    parts = urlsplit(f"//{address}")
    ports = {"grpc": str((parts.port or 0) + 1), "metrics": str((parts.port or 0) + 2)}
    for setting in settings:
        word, _, value = setting.partition("=")
        if word not in ports or not value:
            raise ContractMismatch(f"--url {text}: expected grpc=… or metrics=…, got {setting}")
        ports[word] = value
    host = address.partition("/")[0].rpartition(":")[0]
    grpc, metrics = (f"{host}:{one}" if one.isdecimal() else one for one in ports.values())
    return Endpoint(
        name or "server",
        f"http://{address}",
        host_port("grpc", grpc, "--url grpc="),
        f"http://{host_port('http', metrics, '--url metrics=')}/metrics",
    )


def named_apart(targets: Sequence[Own | Endpoint]) -> list[Own | Endpoint]:
    """The targets; one whose name was there before has a number behind it."""
    found: dict[str, Own | Endpoint] = {}
    for one in targets:
        number, name = 1, one.name
        while name in found:
            number += 1
            name = f"{one.name}-{number}"
        found[name] = replace(one, name=name)
    return list(found.values())


@contextmanager
def up(targets: Sequence[Own | Endpoint]) -> Iterator[list[Endpoint]]:
    """Every target ready, in this order; those of our own all run at the same time.

    A server without requests takes no CPU, so it does not disturb the others.

    Raises:
        ServingError: one can't be started, or does not answer.
    """
    with ExitStack() as stack:
        yield [
            _reached(one) if isinstance(one, Endpoint) else stack.enter_context(_started(one))
            for one in targets
        ]


@contextmanager
def _started(target: Own) -> Iterator[Endpoint]:
    if target.repository is not None and target.deployment.target == "cpu":
        check_repository(target.repository, target.profile)
    extra = () if target.deployment.target == "cpu" else GPU_METRICS
    options = ServeOptions(Path(), "", "", profile=target.profile, extra=extra)
    with temporary.running(ServeRequest(target.deployment, options, target.repository)) as server:
        yield Endpoint(
            target.name,
            server.http_url,
            server.grpc,
            server.metrics_url,
            target.profile,
            server.process,
        )


def _reached(endpoint: Endpoint) -> Endpoint:
    get_json(f"{endpoint.http_url}/v2")
    has_metrics = endpoint.metrics_url is not None and read_metrics(endpoint.metrics_url)
    return endpoint if has_metrics else replace(endpoint, metrics_url=None)


def subject_of(endpoint: Endpoint, model: str) -> Subject:
    """What the server says of itself, of the model and of the models behind it.

    Raises:
        ServingError: it does not answer, or has no such model.
    """
    url = endpoint.http_url
    about = get_json(f"{url}/v2")
    get_json(f"{url}{Model(model, '').path}")
    server = in_brief(f"{about.get('name', 'unknown')} {about.get('version', 'unknown')}")
    try:
        steps = _steps(url, model)
        configurations = {name: get_json(_config_url(url, name)) for name in (*steps, model)}
        read_counters(url)
    except ServingError as error:  # each part of Triton's API can be closed on its own
        target = Target(endpoint.name, server, model, endpoint.profile)
        return Subject(endpoint, target, (), str(error))
    target = Target(endpoint.name, server, model, endpoint.profile, configurations, steps)
    return Subject(endpoint, target, (*steps, model))


def _config_url(url: str, model: str) -> str:
    return f"{url}{Model(model, '').path}/config"


def _steps(url: str, model: str) -> tuple[str, ...]:
    """Models of an ensemble, and of the ensembles within it, in order; none of a plain model."""
    found: list[str] = []
    waiting = [model]
    while waiting:
        steps = dict.fromkeys(read_config(url, Model(waiting.pop(0), "")).steps)
        new = [one for one in steps if one not in found and one != model]
        waiting += new
        found += new
    return tuple(found)

"""``tandem serve``: render, check, start, say READY, watch until told to stop."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

import psutil

from ensemble.errors import (
    ContractMismatch,
    DeadlineExceeded,
    ModelUnavailable,
    Overloaded,
    ServingError,
)
from ensemble.model_config import Deployment
from ensemble.profiles import STAGES
from tools.export import COMMITTED, export
from tools.serve import health
from tools.serve.installation import Installation, of_target
from tools.serve.options import ServeOptions, command
from tools.serve.preflight import check_machine, check_repository
from tools.serve.process import ServerProcess
from tools.serve.token_file import token_of
from tools.serve.watch import BackOff, ProgressWatch, StubWatch, model_of

EXAMPLE_MODEL = COMMITTED / "classifier" / "1" / "model.onnx"
STUBS_EVERY_S = 0.5
PROBE_EVERY_S = 2.0
PROBE_TIMEOUT_S = 3.0
START_ATTEMPTS = 3
RETIRE_S = 30.0
"""What a model that was loaded again may still need its old stubs for."""
_UNHEALTHY = re.compile(r"Stub process '(\S+)_\d+_\d+' is not healthy")

log = logging.getLogger("tandem.serve")


@dataclass(frozen=True)
class ServeRequest:
    """What the command line asked for.

    Attributes:
        deployment: what to render, and the target that chooses the server.
        options: ports, address and further flags; its repository, token and prefix are filled in.
        repository: serve this one as it is, and render nothing.
        token_file: where the management token is read from, or written to when it is not there.
        ready_timeout_s: for the first start.
    """

    deployment: Deployment
    options: ServeOptions
    repository: Path | None = None
    token_file: Path | None = None
    ready_timeout_s: float = 120.0


def serve(request: ServeRequest, say: Callable[[str], None]) -> None:
    """Serve until SIGINT, SIGTERM or the end of the terminal.

    Args:
        request: what to serve, and where.
        say: takes each line for the user.

    Raises:
        ServingError: the machine lacks something, or the server never became ready.
    """
    if request.repository is not None and not request.repository.is_dir():
        raise ContractMismatch(f"--repository {request.repository}: expected a folder")
    if request.repository is not None and not (request.repository / "ensemble").is_dir():
        raise ContractMismatch(
            f"--repository {request.repository}: expected a model named ensemble, which is asked "
            "whether the server still answers"
        )
    if request.options.recording is not None:
        request.options.recording.check(request.options.extra)
    check_machine(request.options, request.deployment)
    # The serving image has no validator, and with flags of their own users know better.
    if request.repository and request.deployment.target == "cpu" and not request.options.extra:
        check_repository(request.repository, request.options.profile)
    with scratch() as folder, _signals() as stopping:
        options = prepare(request, folder)
        installation = of_target(request.deployment.target, folder)
        server = Server(installation, options, folder.with_suffix(".log"), stopping)
        try:
            server.start(request.ready_timeout_s)
            if not stopping.asked:
                for line in _ready_lines(options, server.log_file, request):
                    say(line)
                server.watch()
        finally:
            server.stop()
        for log_file in server.log_file.parent.glob(f"{server.log_file.name}*"):
            log_file.unlink()  # kept when something went wrong


class Stopping:
    """Set by a signal; looked at between steps."""

    asked = False


@dataclass
class Server:
    """A ``tritonserver`` that is kept answering.

    Attributes:
        installation: where the program is.
        options: what it is started with.
        log_file: what it and its stubs print.
        stopping: when to give up.
        first_asked: model that must answer an image before the server counts as started; None:
            that Triton calls itself ready is enough.
    """

    installation: Installation
    options: ServeOptions
    log_file: Path
    stopping: Stopping
    first_asked: str | None = "ensemble"
    _process: ServerProcess | None = None
    _started_s: float = 0.0
    _back_off: BackOff = field(default_factory=BackOff)
    _retired: list[tuple[float, psutil.Process]] = field(default_factory=list)

    def start(self, timeout_s: float) -> None:
        """Start and wait until a real image is answered.

        A race in the start of Triton 2.51's Python backend now and then aborts the server
        (boost::interprocess::lock_exception), so a crash is tried again.

        Raises:
            BackendFailure: it ended, or was not ready in time; with what its log says.
        """
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                self._start_once(timeout_s)
                return
            except ServingError:
                assert self._process is not None
                code = self._process.exit_code()
                self._process.kill()
                if code is None or code >= 0 or attempt == START_ATTEMPTS:
                    raise
                log.warning("tritonserver crashed while it was starting; once more")

    def _start_once(self, timeout_s: float) -> None:
        self._started_s = time.monotonic()
        environment = os.environ | self.installation.environment
        self._process = ServerProcess(
            command(self.installation, self.options),
            dict(environment),
            self.log_file,
            self.options.shm_prefix,
        )
        while not self.stopping.asked:
            if self._process.exit_code() is not None:
                raise self._process.failure("tritonserver ended while it was starting")
            self._process.close_shared_memory()
            if health.is_ready(self.options.http_url) and self._answers():
                return
            if time.monotonic() - self._started_s > timeout_s:
                raise self._process.failure(f"tritonserver was not ready within {timeout_s:g} s")
            time.sleep(0.1)

    @property
    def process(self) -> ServerProcess:
        """The run that was started last."""
        assert self._process is not None
        return self._process

    def watch(self) -> None:
        """Keep it answering until told to stop."""
        while not self.stopping.asked:
            code = self._run_until_it_ends()
            if code is not None and not self.stopping.asked:
                self._restart(code)

    def stop(self) -> None:
        """Stop the server and everything that it started."""
        for _, process in self._retired:  # or Triton would wait for them
            _end(process)
        if self._process is not None:
            if self.options.recording is not None:
                # Where HTTP connections stay open, Triton ends without writing its last traces.
                with suppress(ServingError):
                    health.end_trace(self.options.http_url, self.options.token)
            self._process.stop()

    def _run_until_it_ends(self) -> int | None:
        assert self._process is not None
        stubs, progress = StubWatch(), ProgressWatch()
        next_probe_s = 0.0
        while not self.stopping.asked:
            code = self._process.exit_code()
            if code is not None:
                return code
            self._process.close_shared_memory()
            self._process.limit_log()
            if self.options.recording is not None:
                self.options.recording.limit()
            newest = {stub.instance: stub.started_s for stub in self._process.stubs()}
            self._reload(stubs.observe(newest, self._ready_models()))
            self._end_retired()
            if time.monotonic() >= next_probe_s and not stubs.suspects:
                self._probe(progress)
                next_probe_s = time.monotonic() + PROBE_EVERY_S
            time.sleep(STUBS_EVERY_S)
        return None

    def _restart(self, code: int) -> None:
        assert self._process is not None
        self._process.kill()
        wait_s = self._back_off.after_run_of(time.monotonic() - self._started_s)
        log.error("tritonserver ended with code %s; starting again in %g s", code, wait_s)
        deadline_s = time.monotonic() + wait_s
        while time.monotonic() < deadline_s and not self.stopping.asked:
            time.sleep(0.1)
        try:
            self.start(timeout_s=120.0)
        except ServingError as error:
            log.error("%s", error)

    def _ready_models(self) -> set[str]:
        return {name for name in self._stages() if health.is_ready(self.options.http_url, name)}

    def _stages(self) -> Sequence[str]:
        """Models that have stubs: the stages, or the one that is all of them."""
        repository = self.options.repository
        return [stage for stage in STAGES if (repository / stage).is_dir()] or ["ensemble"]

    def _answers(self) -> bool:
        if self.first_asked is None:
            return True
        try:
            health.check(self.options.http_url, self.first_asked, timeout_s=30.0)
        except (Overloaded, ModelUnavailable, DeadlineExceeded):
            return False
        except ServingError as error:
            assert self._process is not None
            raise self._process.failure(f"the first image was not answered: {error}") from error
        return True

    def _probe(self, progress: ProgressWatch) -> None:
        """One real inference; what does not answer it is loaded again or ended."""
        answered = True
        try:
            health.check(self.options.http_url, timeout_s=PROBE_TIMEOUT_S)
        except (Overloaded, ModelUnavailable):
            pass
        except DeadlineExceeded:
            answered = False
        except ServingError as error:
            log.warning("a probe failed: %s", error)
            named = _UNHEALTHY.search(str(error))
            self._reload({named[1]} if named else {s for s in self._stages() if self._fails(s)})
        self._end_hung_stubs(progress, answered)

    def _fails(self, stage: str) -> bool:
        try:
            health.check(self.options.http_url, stage, PROBE_TIMEOUT_S)
        except (Overloaded, DeadlineExceeded, ModelUnavailable):
            return False
        except ServingError:
            return True
        return False

    def _end_hung_stubs(self, progress: ProgressWatch, answered: bool) -> None:
        assert self._process is not None
        try:
            counts = health.execution_counts(self.options.http_url)
        except ServingError:
            return
        # A stub that computes is slow, not hung: large pictures take seconds.
        for stub in self._process.stubs():
            with suppress(psutil.Error):
                counts[stub.instance] = int(sum(stub.process.cpu_times()[:2]))
        if progress.observe(time.monotonic(), answered, counts):
            log.error("no stage has moved for long: ending the stubs")
            for stub in self._process.stubs():
                _end(stub.process)

    def _reload(self, models: set[str]) -> None:
        assert self._process is not None
        for model in sorted(models):
            log.error("a stub of %s is dead: loading the model again", model)
            old = [stub for stub in self._process.stubs() if model_of(stub.instance) == model]
            try:
                health.load(self.options.http_url, model, self.options.token)
            except ServingError as error:
                log.error("loading %s again failed: %s", model, error)
                continue
            log.info("%s answers again", model)
            self._process.close_shared_memory()
            retire_s = time.monotonic() + RETIRE_S
            self._retired += [(retire_s, stub.process) for stub in old]

    def _end_retired(self) -> None:
        """End the old stubs of models that were loaded again.

        Triton may wait for ever for the one that died, and keeps the others of that copy meanwhile.
        """
        now_s = time.monotonic()
        for retire_s, process in self._retired:
            if now_s >= retire_s:
                _end(process)
        self._retired = [one for one in self._retired if now_s < one[0]]


def _end(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill()


def prepare(request: ServeRequest, folder: Path) -> ServeOptions:
    """The options with what is made in ``folder``: a rendered repository, and a token."""
    repository, extra = request.repository, request.options.extra
    if repository is None:
        from tools.example.efficientnet_lite0 import ensure  # not in the serving image

        repository = export(request.deployment, ensure(EXAMPLE_MODEL), folder / "repository")
        if request.deployment.target == "cpu":
            # Ours are complete. Triton would start each model once more to ask what is missing.
            extra = ("--disable-auto-complete-config", *extra)
    return replace(
        request.options,
        repository=repository.resolve(),
        token=token_of(request.token_file or folder / "token"),
        shm_prefix=f"{folder.name}_",
        extra=extra,
    )


def _ready_lines(options: ServeOptions, log_file: Path, request: ServeRequest) -> Iterator[str]:
    host = options.host
    yield f"READY  {request.deployment.target} target, profile {request.deployment.profile}"
    yield f"  HTTP     {options.http_url}"
    yield f"  gRPC     {host}:{options.grpc_port}"
    yield f"  metrics  http://{host}:{options.metrics_port}/metrics"
    token_file = request.token_file or log_file.with_suffix("") / "token"
    yield f"  token    {token_file} (management APIs)"
    yield f"  log      {log_file}"
    if options.recording is not None:
        yield f"  arrivals {options.recording.file}.*"
    url = "" if options.grpc_port == 8001 else f" --url {host}:{options.grpc_port}"
    yield f"Try:  .venv/bin/tandem classify samples/{url}"


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one run of the server."""
    folder = Path(tempfile.mkdtemp(prefix="tandem-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _signals() -> Iterator[Stopping]:
    stopping = Stopping()

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.asked = True

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup: outlive the terminal
        numbers.append(signal.SIGHUP)
    previous = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield stopping
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

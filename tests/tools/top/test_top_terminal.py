"""The real program in a terminal of its own: it shows, obeys, leaves, and leaves it as it was."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.conftest import ROOT
from tests.fakes.busy_triton import BusyTriton, busy_triton
from tests.fakes.odd_server import hung_up

TIMEOUT_S = 30.0
"""A start takes under a second on an idle machine."""
RESTORED = b"\x1b[?1049l"
"""The second screen is left."""
YELLOW = b"\x1b[33m"


@dataclass
class Terminal:
    """A program, and everything that it has written to its terminal."""

    process: subprocess.Popen[bytes]
    master: int
    slave: int
    written: bytes = field(default=b"")

    def wait_for(self, *texts: bytes, since: int = 0) -> None:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not all(text in self.written[since:] for text in texts):
            assert time.monotonic() < deadline_s, self.written
            self.read()

    def read(self) -> None:
        with contextlib.suppress(OSError):  # nobody is at the other end any more
            if select.select([self.master], [], [], 0.05)[0]:
                self.written += os.read(self.master, 1 << 16)

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        for end in (self.master, self.slave):
            with contextlib.suppress(OSError):  # it was closed before
                os.close(end)

    def end(self) -> int:
        """Its exit code, when it is gone."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None and time.monotonic() < deadline_s:
            self.read()
        self.read()
        assert self.process.returncode is not None, self.written
        return self.process.returncode


@pytest.fixture
def triton() -> Iterator[BusyTriton]:
    with busy_triton() as one:
        yield one


@contextlib.contextmanager
def terminal(
    triton: BusyTriton, heeds_hangup: bool = True, **environment: str
) -> Iterator[Terminal]:
    """``tandem top`` in a terminal of 24 lines of 80."""
    master, slave = pty.openpty()
    hangup = "" if heeds_hangup else "trap '' HUP; "
    command = ["setsid", "--ctty", "sh", "-c", f'{hangup}exec "$@"', "sh", sys.executable]
    command += ["-m", "tools", "top", "--interval-s=0.1"]
    command += [f"--url={triton.address}", f"--metrics-url={triton.address}"]
    known = {"TERM": "screen-256color", "LC_ALL": "C.UTF-8"}  # it writes runs of a letter out
    own = os.environ | known | environment
    process = subprocess.Popen(command, cwd=ROOT, stdin=slave, stdout=slave, stderr=slave, env=own)
    one = Terminal(process, master, slave)
    one.resize(24, 80)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one.close()


def test_it_shows_survives_resizes_and_q_puts_everything_back(triton: BusyTriton) -> None:
    with terminal(triton) as one:
        before = termios.tcgetattr(one.slave)
        one.wait_for(b"chain", b"first", b"req/s", "░░░░".encode())
        assert termios.tcgetattr(one.slave) != before
        seen, pages = len(one.written), dict(triton.odd.pages)
        triton.odd.pages = dict.fromkeys(pages, hung_up)
        one.wait_for(b"no answer", since=seen)
        seen = len(one.written)
        triton.odd.pages = pages
        one.wait_for(b"chain", since=seen)
        one.resize(8, 40)
        one.wait_for(b"more lines")
        one.press(b"jjq")
        assert one.end() == 0
        assert YELLOW in one.written
        assert termios.tcgetattr(one.slave) == before
        assert RESTORED in one.written
        assert b"Traceback" not in one.written


@pytest.mark.parametrize(
    ("keys", "number", "code"),
    [(b"\x03", None, 130), (None, signal.SIGTERM, 143)],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_every_other_way_out_puts_everything_back(
    triton: BusyTriton, keys: bytes | None, number: int | None, code: int
) -> None:
    with terminal(triton, LC_ALL="C", NO_COLOR="1") as one:
        before = termios.tcgetattr(one.slave)
        one.wait_for(b"chain", b"..........####")
        if keys is not None:
            one.press(keys)
        if number is not None:
            one.process.send_signal(number)
        assert one.end() == code
        assert termios.tcgetattr(one.slave) == before
        assert RESTORED in one.written
        assert YELLOW not in one.written
        assert b"Traceback" not in one.written


@pytest.mark.parametrize("heeds", [True, False], ids=["told", "after nohup"])
def test_it_ends_with_its_terminal(triton: BusyTriton, heeds: bool) -> None:
    with terminal(triton, heeds_hangup=heeds) as one:
        one.wait_for(b"chain")
        one.close()
        assert one.process.wait(TIMEOUT_S) == 129


def test_a_terminal_that_can_not_show_it(triton: BusyTriton) -> None:
    with terminal(triton, TERM="dumb") as one:
        assert one.end() == 2
        assert b"TERM=dumb; use --once" in one.written
        assert b"Traceback" not in one.written

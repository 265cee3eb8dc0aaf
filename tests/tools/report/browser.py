"""Debian's Chromium, driven over two pipes by its own protocol."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
PATIENCE_S = 60
PROGRAM = shutil.which("chromium")


class Browser:
    """One page of a running browser."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._read = to, back, b""
        self._number, self._session = 0, None
        self.complaints: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        asked = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = asked["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return self._until(lambda found: found.get("id") == self._number).get("result", {})

    def _until(self, wanted: Any) -> dict[str, Any]:
        while True:
            found: dict[str, Any] = json.loads(self._message())
            self._listen(found)
            if wanted(found):
                if "error" in found:
                    raise RuntimeError(str(found["error"]))
                return found

    def _message(self) -> bytes:
        parts = [self._read]
        while b"\0" not in parts[-1]:
            if not select.select([self._back], [], [], PATIENCE_S)[0]:
                raise RuntimeError(f"the browser says nothing for {PATIENCE_S} s")
            parts.append(os.read(self._back, 1 << 16))
            if not parts[-1]:
                raise RuntimeError("the browser is gone")
        message, _, self._read = b"".join(parts).partition(b"\0")
        return message

    def _listen(self, found: dict[str, Any]) -> None:
        method = found.get("method")
        if method in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.complaints.append(json.dumps(found["params"]))
        if method == "Network.requestWillBeSent":
            self.complaints += _fetched(found["params"]["request"]["url"])

    def open(self, path: Path, width: int, height: int) -> None:
        """The page, once it is loaded, in a window of this size."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.ask("Page.navigate", url=path.as_uri())
        self._until(lambda found: found.get("method") == "Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """Of a JavaScript expression."""
        asked = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return asked["result"].get("value")


def _fetched(url: str) -> list[str]:
    return [] if url.startswith(("file:", "data:")) else [f"fetched {url}"]


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with an empty profile in ``folder``."""
    assert PROGRAM is not None
    theirs_in, to = os.pipe()
    back, theirs_out = os.pipe()
    command = [PROGRAM, *FLAGS, f"--user-data-dir={folder}", "--remote-debugging-pipe"]
    # The protocol's descriptors are 3 and 4.
    script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        one = Browser(to, back)
        yield one
        one.ask("Browser.close")
        process.wait(timeout=PATIENCE_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(to)
        os.close(back)

"""An HTTP server that answers each path as the test says, however oddly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]


class OddServer:
    """Pages by path; a path that is not there is a 404.

    Attributes:
        url: with scheme, host and port.
        pages: may be changed at any time.
        asked: paths, in order.
    """

    def __init__(self) -> None:
        self.url = ""
        self.pages: dict[str, Reply] = {}
        self.asked: list[str] = []
        self.closing = threading.Event()

    @property
    def address(self) -> str:
        return self.url.removeprefix("http://")

    def silence(self, handler: BaseHTTPRequestHandler) -> None:
        """Takes the request and says nothing, as a server does whose process is stopped."""
        self.closing.wait(60)
        handler.close_connection = True

    def drip(self, handler: BaseHTTPRequestHandler) -> None:
        """A byte now and then, so that no single wait is long."""
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not self.closing.wait(0.02):
            handler.wfile.write(b" ")


def body(content: bytes | str | Any, status: int = 200) -> Reply:
    """Bytes and text as they are, anything else as JSON."""
    if isinstance(content, str):
        content = content.encode()
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)

    return reply


def broken_off(handler: BaseHTTPRequestHandler) -> None:
    """Half of what was promised, and the line is cut."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"model_stats": [')


def hung_up(handler: BaseHTTPRequestHandler) -> None:
    """The line is cut before a word."""
    handler.close_connection = True


def no_http(handler: BaseHTTPRequestHandler) -> None:
    """Such as the gRPC port of the same server."""
    handler.wfile.write(b"\x00\x00\x18\x04 no HTTP at all\r\n\r\n")


def endless(handler: BaseHTTPRequestHandler) -> None:
    """As much as anybody takes."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b" " * (1 << 20))
    except OSError:  # they have had enough
        handler.close_connection = True


@contextmanager
def odd_server() -> Iterator[OddServer]:
    """One that runs while the block does."""
    one = OddServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            one.asked.append(self.path)
            try:
                one.pages.get(self.path, body("", 404))(self)
            except OSError:  # the other side did not wait
                self.close_connection = True

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        one.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield one
        finally:
            one.closing.set()
            server.shutdown()
            thread.join()

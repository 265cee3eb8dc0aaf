"""Where the server is, from what a user types."""

from __future__ import annotations

from urllib.parse import urlsplit

from ensemble.errors import ContractMismatch

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORTS = {"grpc": 8001, "http": 8000}
"""Triton's own."""


def host_port(protocol: str, url: str | None) -> str:
    """``host:port`` of a URL with or without scheme and port; HTTP keeps its base path.

    Raises:
        ContractMismatch: with the URL and what is expected.
    """
    text = url or DEFAULT_HOST
    scheme, _, rest = text.rpartition("://")
    wanted = f"--url {text}: expected host:port or http://host:port"
    if scheme.lower() not in ("", "http", "grpc"):
        raise ContractMismatch(f"{wanted}, got the scheme {scheme}; TLS is not spoken here")
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port or DEFAULT_PORTS[protocol]
    except ValueError as error:
        raise ContractMismatch(f"{wanted}, got {error}") from error
    path = parts.path.rstrip("/")
    if not parts.hostname or parts.username or (path and protocol == "grpc"):
        raise ContractMismatch(wanted)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{port}{path}"

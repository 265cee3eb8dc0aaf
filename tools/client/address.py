"""Where the server is, from what a user types."""

from __future__ import annotations

from urllib.parse import urlsplit

from ensemble.errors import ContractMismatch

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORTS = {"grpc": 8001, "http": 8000}
"""Triton's own."""


def host_port(protocol: str, url: str | None, option: str = "--url") -> str:
    """``host:port`` of a URL with or without scheme and port; HTTP keeps its base path.

    Args:
        protocol: ``grpc`` or ``http``; gRPC is also found by a URL that says ``http``.
        url: None is this machine.
        option: where the URL was typed, for the error.

    Raises:
        ContractMismatch: with the URL and what is expected.
    """
    text = url or DEFAULT_HOST
    scheme, _, rest = text.rpartition("://")
    wanted = f"{option} {text}: expected host:port or http://host:port"
    if scheme.lower() not in ("", "http", protocol):
        hint = "name Triton's HTTP port" if scheme.lower() == "grpc" else "TLS is not spoken here"
        raise ContractMismatch(f"{wanted}, got the scheme {scheme}; {hint}")
    try:
        parts = urlsplit(f"//{rest}")
        port = DEFAULT_PORTS[protocol] if parts.port is None else parts.port
    except ValueError as error:
        raise ContractMismatch(f"{wanted}, got {error}") from error
    path = parts.path.rstrip("/")
    if not parts.hostname or parts.username or not port or (path and protocol == "grpc"):
        raise ContractMismatch(wanted)
    if parts.query or parts.fragment:
        raise ContractMismatch(f"{wanted}, got more behind it")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{port}{path}"

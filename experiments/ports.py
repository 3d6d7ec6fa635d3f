"""Ports of this machine, for servers that an experiment starts."""

from __future__ import annotations

import socket

__all__ = ["free_port"]


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port

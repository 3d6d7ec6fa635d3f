"""This process and the machine: memory, free ports. CPU seconds are in :mod:`sash.cli.processes`."""

from __future__ import annotations

import socket
from pathlib import Path

__all__ = ["free_port", "memory_kb"]


def memory_kb() -> dict[str, int]:
    """What this process has in memory, in kB: all of it (``VmRSS``), what no file backs (``RssAnon``), and what the
    system's limit on data counts (``VmData``)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return {
        line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "RssAnon", "VmData"))
    }


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port

"""Processes of this machine: CPU seconds of this one and all beneath it (a JVM, Python workers), memory, free ports."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

__all__ = ["cpu_seconds", "free_port", "memory_kb", "processes"]


def processes() -> Iterator[tuple[int, int, int, float]]:
    """(pid, parent, when it began, CPU seconds) of all processes of this machine."""
    tick = os.sysconf("SC_CLK_TCK")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            yield int(entry.name), int(fields[1]), int(fields[19]), (int(fields[11]) + int(fields[12])) / tick


def memory_kb() -> dict[str, int]:
    """What this process has in memory, in kB: all of it (``VmRSS``), what no file backs (``RssAnon``), and what the
    system's limit on data counts (``VmData``)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return {
        line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "RssAnon", "VmData"))
    }


SPENT: dict[tuple[int, int], float] = {}  # workers that are idle end, and what they spent must not be forgotten


def cpu_seconds() -> float:
    """CPU seconds of this process and all beneath it, those that have ended since they were last seen included."""
    children: dict[int, list[tuple[int, int, float]]] = {}
    for pid, parent, began, spent in processes():
        children.setdefault(parent, []).append((pid, began, spent))
    waiting = [each for each in children.get(os.getppid(), []) if each[0] == os.getpid()]
    while waiting:
        pid, began, spent = waiting.pop()
        SPENT[pid, began] = spent
        waiting += children.get(pid, [])
    return sum(SPENT.values())


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port

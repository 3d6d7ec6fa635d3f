"""CPU seconds of this process and of all beneath it: a JVM, Python workers. Linux only."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["cpu_seconds", "processes", "watching"]

_TICK_S = 0.1


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


_SPENT: dict[tuple[int, int], float] = {}  # workers that are idle end, and what they spent must not be forgotten


def cpu_seconds() -> float:
    """CPU seconds of this process and all beneath it, those that have ended since they were last seen included."""
    children: dict[int, list[tuple[int, int, float]]] = {}
    for pid, parent, began, spent in processes():
        children.setdefault(parent, []).append((pid, began, spent))
    waiting = [process for process in children.get(os.getppid(), []) if process[0] == os.getpid()]
    while waiting:
        pid, began, spent = waiting.pop()
        _SPENT[pid, began] = spent
        waiting += children.get(pid, [])
    return sum(_SPENT.values())


@contextmanager
def watching() -> Iterator[None]:
    """Look every now and then, so that what short-lived processes spend is known after they have ended."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_TICK_S):
            cpu_seconds()

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()

"""The threads that compute ``lcs``: one pool for all PBA windows of a process, however many keys it has."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

__all__ = ["WAITING", "Waiting", "asked_threads", "available_cores", "hold_pool", "release_pool", "shared_pool"]


@dataclass
class Waiting:
    """How often a window needed ``lcs`` that was not there yet, and for how long main threads stood still."""

    times: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count once more."""
        self.times += 1
        self.seconds += seconds


WAITING = Waiting()
"""Of this process, for its metrics."""

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_asked: int | None = None
_holders = 0


def available_cores() -> int:
    """The cores that this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared_pool() -> ThreadPoolExecutor:
    """The pool, started at first use: a thread for every core but the main thread's, or as many as were asked for."""
    global _pool
    with _lock:
        if _pool is None:
            threads = available_cores() - 1 if _asked is None else _asked
            _pool = ThreadPoolExecutor(max(1, threads), thread_name_prefix="sash-lcs")
        return _pool


def asked_threads() -> int | None:
    """How many threads were asked for; None: nothing was said."""
    return _asked


def hold_pool(threads: int | None = None) -> None:
    """Say that something runs that may use the pool, such as a task of an engine, and with how many threads.

    0 means none: then the planner never chooses PBA. Who holds it first decides. Threads start when they are needed.

    >>> hold_pool(0); asked_threads()
    0
    >>> release_pool(); asked_threads()
    """
    global _asked, _holders, _pool
    with _lock:
        if not _holders and threads is not None:
            if _pool is not None:
                _pool.shutdown(wait=False)  # what it was given is still done
            _asked, _pool = threads, None
        _holders += 1


def release_pool() -> None:
    """Undo one :func:`hold_pool`. With the last, the pool's threads end, once they have done what they were given."""
    global _asked, _holders, _pool
    with _lock:
        _holders -= 1
        ended = None
        if not _holders:
            ended, _pool, _asked = _pool, None, None
    if ended is not None:
        ended.shutdown(wait=True)


def _forget() -> None:
    """A forked child has the pool but none of its threads: it starts its own."""
    global _asked, _holders, _lock, _pool
    _asked, _holders, _lock, _pool = None, 0, threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

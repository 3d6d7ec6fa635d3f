"""The threads that compute ``lcs``: one pool for all PBA windows of a process, however many keys it has."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

__all__ = ["available_cores", "shared_pool"]

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def available_cores() -> int:
    """The cores that this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared_pool() -> ThreadPoolExecutor:
    """The pool, started at first use: a thread for every core but the one the main thread needs."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(1, available_cores() - 1), thread_name_prefix="sash-lcs")
        return _pool


def _forget() -> None:
    """A forked child has the pool but none of its threads: it starts its own."""
    global _lock, _pool
    _lock, _pool = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

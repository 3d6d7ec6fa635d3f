"""The memory of a worker process: freed memory is kept for the next allocation.

The columns of a batch take some hundred kilobytes each, are allocated and freed with every batch, and lie at the end of
the heap. glibc returns such memory to the system, which hands it out again page by page, zeroed on first touch: over
long windows this is a good part of the cost of a batch.
"""

from __future__ import annotations

import ctypes

__all__ = ["keep_freed_memory"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as in malloc.h
_KEPT = 64 << 20
"""Bytes that may lie free at the end of the heap."""
_LARGE = 32 << 20
"""Larger blocks come from the system each time: the most that glibc allows."""


def keep_freed_memory() -> bool:
    """Keep up to 64 MB that this process frees; False if its C library cannot. O(1).

    For processes that only run queries, since the whole process is affected.

    >>> kept = keep_freed_memory()  # True with glibc
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's; others have none, or one that does nothing
    if mallopt is None:
        return False
    return all(mallopt(option, value) for option, value in ((_TRIM_THRESHOLD, _KEPT), (_MMAP_THRESHOLD, _LARGE)))

"""The memory of a worker process: what is freed is kept for what is asked for next.

The columns of a batch are some hundred kilobytes each, are asked for and freed with every batch, and lie at the end of
the heap. glibc gives such memory back to the system when it is freed, and the system hands it out again page by page,
zeroed, as it is touched: over long windows this is a good part of what a batch costs.
"""

from __future__ import annotations

import ctypes

__all__ = ["keep_freed_memory"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as in malloc.h
_KEPT = 64 << 20
"""So many bytes may lie free at the end of the heap."""
_LARGE = 32 << 20
"""What is larger is asked of the system each time: the most that glibc allows."""


def keep_freed_memory() -> bool:
    """Keep up to 64 MB of what this process frees; whether its C library can. O(1).

    For processes that are there to run queries: it holds for all of the process.

    >>> kept = keep_freed_memory()  # True with glibc
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's; others have none, or one that does nothing
    if mallopt is None:
        return False
    return all(mallopt(option, value) for option, value in ((_TRIM_THRESHOLD, _KEPT), (_MMAP_THRESHOLD, _LARGE)))

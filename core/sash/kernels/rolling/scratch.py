"""Scratch arrays of kernels, kept for the next window when one is done with it.

The system gives out memory in pages full of zeros, made when they are first touched. For windows of a million values
that takes longer than to compute them, and two threads take even longer, in turns. So the last ones that were used are
used again.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np

__all__ = ["scratch"]

Array = np.ndarray[Any, Any]

SMALLEST = 1 << 16
"""Bytes from which on a room is kept: smaller ones the allocator keeps itself."""
MOST = 1 << 26
"""Bytes that are kept at most."""

_free: dict[
    int, list[Array]
] = {}  # by size; changed by single operations only, which no other thread can see half done
_stagger = itertools.count()


def scratch(dtype: np.dtype[Any], size: int) -> Array:
    """An array of any content.

    It begins at another place in a page than the last one: arrays of a power of two of bytes, all read and written at
    one position, would else share a few lines of the cache and drive each other out.
    """
    begin = (next(_stagger) * 5 % 56 + 1) * 64
    bytes_ = size * dtype.itemsize
    block = _block(4096 + bytes_) if bytes_ >= SMALLEST else np.empty(4096 + bytes_, np.uint8)
    return block[begin : begin + bytes_].view(dtype)


def _block(bytes_: int) -> Array:
    try:
        memory = _free[bytes_].pop()
    except (KeyError, IndexError):
        memory = np.empty(bytes_, np.uint8)
    block = np.frombuffer(memory.data, np.uint8)  # alive as long as any view of it
    weakref.finalize(block, _keep, memory).atexit = False
    return block


def _keep(memory: Array) -> None:
    if sum(size * len(blocks) for size, blocks in list(_free.items())) + len(memory) > MOST:
        _free.clear()
    if len(memory) <= MOST:
        _free.setdefault(len(memory), []).append(memory)

"""Passes over long arrays, shared out over the cores: NumPy and compiled code release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

__all__ = ["Shares", "available_cores", "available_threads", "extent", "in_shares", "limit_shares", "shares_of"]

Shares = Sequence[tuple[int, int]]
"""Begin and end of each part of an array."""
LEAST = 1 << 17
"""Rows that a share has at least: to start a thread takes as long as a pass over a tenth of them."""

_Result = TypeVar("_Result")
_most: int | None = None


def available_cores() -> int:
    """The number of cores that this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_shares(most: int | None) -> None:
    """Have no pass use more than so many threads, those of an engine's slot; None: as many as there are cores."""
    global _most
    _most = most


def available_threads() -> int:
    """How many threads a pass may use."""
    return available_cores() if _most is None else _most


def shares_of(size: int) -> Shares:
    """Shares of ``size`` rows, one a core if they are long enough. O(cores).

    >>> shares_of(10)
    [(0, 10)]
    """
    shares = max(1, min(available_threads(), size // LEAST))
    return list(pairwise([size * share // shares for share in range(shares + 1)]))


def in_shares(task: Callable[..., _Result], shares: Sequence[tuple[Any, ...]]) -> list[_Result]:
    """What ``task(*share)`` returns for each share, in order. Each but the first has a thread of its own.

    >>> in_shares(lambda begin, end: end - begin, [(0, 3), (3, 10)])
    [3, 7]
    """
    if len(shares) == 1:
        return [task(*shares[0])]
    with ThreadPoolExecutor(len(shares) - 1, thread_name_prefix="sash-share") as pool:
        others = [pool.submit(task, *share) for share in shares[1:]]
        return [task(*shares[0]), *(other.result() for other in others)]


def extent(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The least and the largest of some whole numbers. O(n)."""
    extents = in_shares(lambda begin, end: (array[begin:end].min(), array[begin:end].max()), shares_of(len(array)))
    return int(min(low for low, _ in extents)), int(max(high for _, high in extents))

"""Passes over long arrays, shared out over the cores: NumPy and compiled code release the GIL."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

__all__ = [
    "Shares",
    "Span",
    "available_cores",
    "available_threads",
    "extent",
    "in_shares",
    "is_sorted",
    "limit_shares",
    "scaled",
    "shares_of",
    "span_of",
]

Shares = Sequence[tuple[int, int]]
"""Begin and end of each part of an array."""
Array = np.ndarray[Any, Any]
LEAST = 1 << 17
"""Rows that a share has at least: to start a thread takes as long as a pass over a tenth of them."""
LEAST_TO_COMPARE = 1 << 20
"""The same for passes that only compare: they read eight bytes a row and keep nothing."""

_BLOCKS = 1 << 12, 1 << 16
"""Values that are compared at once: most arrays that do not ascend show it in the first, smaller block."""

_Result = TypeVar("_Result")
_most: int | None = None
_pool: ThreadPoolExecutor | None = None


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


def shares_of(size: int, least: int | None = None) -> Shares:
    """Shares of ``size`` rows, one a core if each has ``least`` of them, :data:`LEAST` if not given. O(cores).

    >>> shares_of(10)
    [(0, 10)]
    """
    least = LEAST if least is None else least
    if size < 2 * least:
        return [(0, size)]
    shares = max(1, min(available_threads(), size // least))
    return list(pairwise([size * share // shares for share in range(shares + 1)]))


def in_shares(task: Callable[..., _Result], shares: Sequence[tuple[Any, ...]]) -> list[_Result]:
    """What ``task(*share)`` returns for each share, in order, by this thread and those of a pool that stays.

    A share that no thread of the pool has begun when this one is done with its own runs here, so shares of shares never
    wait for one another, and a busy machine does not hold up a call.

    >>> in_shares(lambda begin, end: end - begin, [(0, 3), (3, 10)])
    [3, 7]
    """
    if len(shares) == 1:
        return [task(*shares[0])]
    pool = _helpers()
    others = [pool.submit(task, *share) for share in shares[1:]]
    try:
        results = [task(*shares[0])]
        for other, share in zip(reversed(others), reversed(shares[1:]), strict=True):
            results.insert(1, task(*share) if other.cancel() else other.result())
        return results
    finally:  # what failed, or was interrupted, leaves nothing running
        wait([other for other in others if not other.cancel()])


def _helpers() -> ThreadPoolExecutor:
    """The pool, started at first use: to start a thread for each call takes as long as a pass over many rows."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max(1, available_cores() - 1), thread_name_prefix="sash-share")
    return _pool


def _forget_helpers() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)  # its threads stay with the parent


class Span(NamedTuple):
    """The least and the largest of some times, and whether no time is before its predecessor."""

    low: Any
    high: Any
    ascends: bool


class _Remembered(threading.local):
    """The last array of this thread whose span was stated by :func:`scaled`, as long as it is there."""

    array: Callable[[], Array | None] = staticmethod(lambda: None)
    span: Span | None = None


_remembered = _Remembered()


def is_sorted(array: Array) -> bool:
    """Whether no value is below its predecessor. O(n), less if one soon is.

    >>> is_sorted(np.array([1, 2, 2])), is_sorted(np.array([1, 3, 2]))
    (True, False)
    """
    if _remembered.span is not None and _remembered.array() is array:
        return _remembered.span.ascends
    first, _ = _BLOCKS
    if not _ascends(array, 0, min(first, len(array))):
        return False
    shares = shares_of(len(array), LEAST_TO_COMPARE)
    return all(in_shares(lambda begin, end: _ascends(array, max(begin - 1, 0), end), shares))


def _ascends(array: Array, begin: int, end: int) -> bool:
    _, block = _BLOCKS
    for at in range(begin, end - 1, block):
        part = array[at : min(at + block + 1, end)]
        if (part[1:] < part[:-1]).any():
            return False
    return True


def scaled(array: Array, factor: int, span: Span) -> Array:
    """Whole numbers times a factor above 0, whose span :func:`span_of` then knows at once. O(n).

    >>> span_of(scaled(np.array([3, 5]), 10, Span(3, 5, True)))
    Span(low=30, high=50, ascends=True)
    """
    product = np.empty(len(array), np.int64)
    in_shares(lambda begin, end: np.multiply(array[begin:end], factor, out=product[begin:end]), shares_of(len(array)))
    low, high, ascends = span
    _remembered.array, _remembered.span = weakref.ref(product), Span(int(low) * factor, int(high) * factor, ascends)
    return product


def span_of(array: Array) -> Span:
    """The span of at least one time. O(n)."""
    if _remembered.span is not None and _remembered.array() is array:
        return _remembered.span
    if is_sorted(array):
        return Span(array[0], array[-1], True)
    shares = shares_of(len(array), LEAST_TO_COMPARE)
    extents = in_shares(lambda begin, end: (array[begin:end].min(), array[begin:end].max()), shares)
    return Span(min(low for low, _ in extents), max(high for _, high in extents), False)


def extent(array: Array) -> tuple[int, int]:
    """The least and the largest of some whole numbers. O(n)."""
    low, high, _ = span_of(array)
    return int(low), int(high)

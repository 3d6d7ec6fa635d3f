"""Compiled loops over ranks: see :mod:`sash.kernels.order_statistics`. Importing it imports Numba."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import numpy as np
from numba.cpython.unsafe import numbers

from sash.kernels.compile import dispatcher, inner
from sash.kernels.disk_cache import digest_of

__all__ = ["sort", "walk", "walk_many"]

Array = np.ndarray[Any, Any]
leading_zeros: Any = numbers.leading_zeros
trailing_zeros: Any = numbers.trailing_zeros
_inner = cast(Callable[[Any], Any], inner)


@_inner
def _next(words: Array, summary: Array, rank: int) -> Any:
    """The next set bit behind ``rank``; -1: there is none."""
    word: Any = rank >> 6
    rest = words[word] & ((np.uint64(0xFFFFFFFFFFFFFFFF) << np.uint64(rank & 63)) << np.uint64(1))
    if rest:
        return (word << 6) + np.int64(trailing_zeros(rest))
    group = word >> 6
    rest = summary[group] & ((np.uint64(0xFFFFFFFFFFFFFFFF) << np.uint64(word & 63)) << np.uint64(1))
    while not rest:
        group += 1
        if group == summary.shape[0]:
            return -1
        rest = summary[group]
    word = (group << 6) + np.int64(trailing_zeros(rest))
    return (word << 6) + np.int64(trailing_zeros(words[word]))


@_inner
def _previous(words: Array, summary: Array, rank: int) -> Any:
    """The last set bit before ``rank``; -1: there is none."""
    word: Any = rank >> 6
    rest = words[word] & ((np.uint64(1) << np.uint64(rank & 63)) - np.uint64(1))
    if rest:
        return (word << 6) + 63 - np.int64(leading_zeros(rest))
    group = word >> 6
    rest = summary[group] & ((np.uint64(1) << np.uint64(word & 63)) - np.uint64(1))
    while not rest:
        group -= 1
        if group < 0:
            return -1
        rest = summary[group]
    word = (group << 6) + 63 - np.int64(leading_zeros(rest))
    return (word << 6) + 63 - np.int64(leading_zeros(words[word]))


def _walk(
    rank: Array, order: Array, lo: Array, hi: Array, below: Array, words: Array, summary: Array, at: Array, above: Array
) -> None:
    """For each range the row that ``below`` others of it precede in order, and the next.

    ``rank`` may hold anything, and in ``words`` no bit is set.
    """
    for i in range(order.shape[0]):
        rank[order[i]] = i
    left = right = 0
    pointer, before = -1, 0  # a rank in the set, and how many of the set precede it
    for i in range(lo.shape[0]):
        while right < hi[i]:
            r = rank[right]
            right += 1
            word = r >> 6
            words[word] |= np.uint64(1) << np.uint64(r & 63)
            summary[word >> 6] |= np.uint64(1) << np.uint64(word & 63)
            if pointer < 0:
                pointer, before = r, 0
            before += r < pointer  # without a branch, which could not be foreseen
        while left < lo[i]:
            r = rank[left]
            left += 1
            before -= r < pointer
            if r == pointer:
                pointer = _next(words, summary, r)
                if pointer < 0:
                    pointer = _previous(words, summary, r)
                    before -= 1
            word = r >> 6
            words[word] &= ~(np.uint64(1) << np.uint64(r & 63))
            if not words[word]:
                summary[word >> 6] &= ~(np.uint64(1) << np.uint64(word & 63))
        if pointer < 0:
            continue
        wanted = below[i]
        while before < wanted:
            pointer = _next(words, summary, pointer)
            before += 1
        while before > wanted:
            pointer = _previous(words, summary, pointer)
            before -= 1
        at[i] = above[i] = order[pointer]
        if wanted + 1 < hi[i] - lo[i]:
            above[i] = order[_next(words, summary, pointer)]


def _walk_many(
    rank: Array,
    order: Array,
    lo: Array,
    hi: Array,
    below: Array,
    words: Array,
    summary: Array,
    at: Array,
    above: Array,
    pointers: Array,
    before: Array,
) -> None:
    """The same for several places ``below[k]`` of each range; ``pointers`` are -1 and ``before`` 0, one a place."""
    for i in range(order.shape[0]):
        rank[order[i]] = i
    left = right = 0
    for i in range(lo.shape[0]):
        while right < hi[i]:
            r = rank[right]
            right += 1
            word = r >> 6
            words[word] |= np.uint64(1) << np.uint64(r & 63)
            summary[word >> 6] |= np.uint64(1) << np.uint64(word & 63)
            for k in range(pointers.shape[0]):
                if pointers[k] < 0:
                    pointers[k], before[k] = r, 0
                before[k] += r < pointers[k]
        while left < lo[i]:
            r = rank[left]
            left += 1
            for k in range(pointers.shape[0]):
                before[k] -= r < pointers[k]
                if r == pointers[k]:
                    pointers[k] = _next(words, summary, r)
                    if pointers[k] < 0:
                        pointers[k] = _previous(words, summary, r)
                        before[k] -= 1
            word = r >> 6
            words[word] &= ~(np.uint64(1) << np.uint64(r & 63))
            if not words[word]:
                summary[word >> 6] &= ~(np.uint64(1) << np.uint64(word & 63))
        for k in range(pointers.shape[0]):
            pointer, place, wanted = pointers[k], before[k], below[k, i]
            if pointer < 0:
                continue
            while place < wanted:
                pointer = _next(words, summary, pointer)
                place += 1
            while place > wanted:
                pointer = _previous(words, summary, pointer)
                place -= 1
            pointers[k], before[k] = pointer, place
            at[k, i] = above[k, i] = order[pointer]
            if wanted + 1 < hi[i] - lo[i]:
                above[k, i] = order[_next(words, summary, pointer)]


_DIGITS, _BITS = 6, 11


def _sort(keys: Array, order: Array, other: Array, counts: Array) -> None:
    """Put the rows in the order of their keys into ``order``: a stable radix sort.

    ``other`` is as long as ``order``, and ``counts`` are 6 · 2048 zeros.
    """
    size, mask = keys.shape[0], np.uint64(2047)
    for i in range(size):
        order[i] = i
        key = keys[i]
        for digit in range(_DIGITS):
            counts[(digit << _BITS) + np.int64(key & mask)] += 1
            key >>= np.uint64(_BITS)
    swapped = False
    for digit in range(_DIGITS):
        shift, begin = np.uint64(digit * _BITS), digit << _BITS
        if counts[begin + np.int64((keys[0] >> shift) & mask)] == size:
            continue  # all rows have the same
        place = 0
        for bucket in range(begin, begin + 2048):
            count = counts[bucket]
            counts[bucket] = place
            place += count
        for i in range(size):
            row = order[i]
            end = begin + np.int64((keys[row] >> shift) & mask)
            other[counts[end]] = row
            counts[end] += 1
        order, other, swapped = other, order, not swapped
    if swapped:
        for i in range(size):
            other[i] = order[i]


sort: Any = dispatcher(
    cast(FunctionType, _sort), digest_of("sort", _sort.__code__.co_code, _sort.__code__.co_consts, _DIGITS, _BITS)
)

_STEPS = [_next.py_func.__code__, _previous.py_func.__code__]


def _compiled(name: str, function: Callable[..., Any]) -> Any:
    codes = [function.__code__, *_STEPS]
    digest = digest_of(name, *(part for code in codes for part in (code.co_code, code.co_consts)))
    return dispatcher(cast(FunctionType, function), digest)


walk = _compiled("walk", _walk)
walk_many = _compiled("walk many", _walk_many)

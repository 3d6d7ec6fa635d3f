"""Ranges of slices as SBA answers them: which chunks, and which ranges together.

A range of n slices is answered on the level whose chunks have b slices, b the largest power of two up to n. So it
covers the end of the chunk that it begins in, and goes on over at most one whole chunk into another:

    chunks of b = 4   | . . . . | . . . . | . . . . | . . . .
    a range of 7            [lcs]  whole    csa]

``lcs`` is merged right to left within a chunk, ``csa`` left to right: a range is lcs ⊕ whole ⊕ csa, 2 merges at most,
and a slice takes part in at most 2 more on each level that is in use. Only what a range needs is computed, so a range
that is alone costs the n - 1 merges of its slices. Up to 3 slices take just as few without a chunk.

Ranges are taken in the order of their first chunks, so three chunks are held at a time, whatever the number of slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["SHORT", "by_level"]

Array = np.ndarray[Any, Any]


SHORT = 1
"""The level of ranges of up to 3 slices, which are merged one by one, in any order."""


def by_level(lo: Array, hi: Array) -> Iterator[tuple[int, Array | None]]:
    """For each level in use, log₂ b: which ranges are on it, in the order of their first chunks. None: all as they are.

    >>> lo, hi = np.array([5, 7, 1, 1, 0]), np.array([9, 8, 8, 4, 5])
    >>> [(level, which.tolist()) for level, which in by_level(lo, hi)]
    [(1, [1, 3]), (2, [2, 4, 0])]
    """
    if not len(lo):
        return
    levels = np.maximum(np.frexp(hi - lo)[1] - 1, SHORT)
    if levels.min() == levels.max():
        yield int(levels[0]), _by_chunk(lo, int(levels[0]))
        return
    order = np.argsort(levels.astype(np.uint8), kind="stable")
    ends = np.cumsum(np.bincount(levels)).tolist()
    for level, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if begin < end:
            which = order[begin:end]
            by_chunk = _by_chunk(lo[which], level)
            yield level, which if by_chunk is None else which[by_chunk]


def _by_chunk(lo: Array, level: int) -> Array | None:
    """The order of ranges by their first chunks; None: as they are."""
    chunks = lo >> level
    if level == SHORT or (chunks[1:] >= chunks[:-1]).all():
        return None
    return np.argsort(chunks, kind="stable")

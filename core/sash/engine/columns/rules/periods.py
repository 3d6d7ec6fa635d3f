"""Periodic edges, for arrays of times and of windows at once.

An edge k lies at ``offset + k · slide``, or ``shift`` behind that where a window ends elsewhere than others begin.
Numbers of edges have the type of times: whole, or float, where a quotient may be one off and is put right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sash.windows import TimeWindow

__all__ = ["Grid", "Periods", "least", "numbered"]

Array = np.ndarray[Any, Any]


class Periods:
    """Windows [offset + k · slide, + range), or edges, by their numbers; each an array over the windows."""

    def __init__(self, numbers: Sequence[tuple[Any, Any, Any]], dtype: Any) -> None:
        self.range, self.slide, self.offset = (
            np.array([window[i] for window in numbers], dtype).reshape(-1) for i in range(3)
        )
        self.whole = self.slide.dtype.kind == "i"

    def __len__(self) -> int:
        return len(self.slide)

    def of(self, which: Any) -> Periods:
        """Those of the given places."""
        part = object.__new__(Periods)
        part.range, part.slide, part.offset, part.whole = (
            self.range[which],
            self.slide[which],
            self.offset[which],
            self.whole,
        )
        return part

    def start(self, k: Array) -> Array:
        """Where window k begins."""
        start: Array = self.offset + k * self.slide
        return start

    def end(self, k: Array) -> Array:
        """Where window k ends."""
        end: Array = self.start(k) + self.range
        return end

    def index(self, time: Array) -> Array:
        """The largest k whose window begins at or before ``time``."""
        k: Array = (time - self.offset) // self.slide if self.whole else np.floor((time - self.offset) / self.slide)
        if self.whole:
            return k
        for _ in range(4):
            k = k - (self.start(k) > time)
        for _ in range(4):
            k = k + (self.start(k + 1) <= time)
        return k

    def first_behind(self, time: Array) -> Array:
        """The first k whose window ends behind ``time``."""
        behind = time - self.offset - self.range
        k: Array = (behind // self.slide if self.whole else np.floor(behind / self.slide)) + 1
        if self.whole:
            return k
        for _ in range(4):
            k = k + (self.end(k) <= time)
        for _ in range(4):
            k = k - (self.end(k - 1) > time)
        return k


class Grid:
    """Several sets of periodic edges together."""

    def __init__(self, numbers: Sequence[tuple[Any, Any, Any]], dtype: Any) -> None:
        self.sets = Periods(numbers, dtype)
        self._whole = [(slide, offset) for _, slide, offset in numbers] if self.sets.whole else []

    @staticmethod
    def of(windows: Iterable[TimeWindow], dtype: Any) -> Grid:
        """The bounds of all these windows, each set of edges once."""
        numbers: dict[tuple[Any, Any, Any], None] = {}
        for window in windows:
            range_, slide, offset = window.numbers
            numbers[_reduced(0, slide, offset, dtype)] = None
            if not window.aligned:  # of floats, even where range and slide are equal: sums are rounded
                numbers[_reduced(range_, slide, offset, dtype)] = None
        return Grid(list(numbers), dtype)

    def __len__(self) -> int:
        return len(self.sets)

    def between(self, low: Any, high: Any, most: int) -> Array | None:
        """All edges in (low, high], in order; None if there are more than ``most``."""
        if len(self._whole) == 1:  # with single numbers NumPy is slow
            slide, offset = self._whole[0]
            first, last = (int(low) - offset) // slide + 1, (int(high) - offset) // slide
            return None if last - first >= most else np.arange(first, last + 1) * slide + offset
        before, upto = self._last(self.sets, low), self._last(self.sets, high)
        counts = np.maximum(upto - before, 0)
        if counts.sum(dtype=np.float64) > most:
            return None
        which, k = numbered(before + 1, counts)
        edges = self.sets.of(which).end(k)
        return np.unique(edges) if len(self.sets) > 1 else edges

    def crossed(self, before: Array, after: Array) -> Array:
        """Whether an edge lies in (before, after]."""
        if len(before) == 1 and 0 < len(self._whole) < 8:
            low, high = int(before[0]), int(after[0])
            return np.array([any((low - o) // s != (high - o) // s for s, o in self._whole)])
        crossed = np.zeros(len(before), np.bool_)
        block = max(1, (1 << 20) // max(1, len(before)))
        for i in range(0, len(self.sets), block):
            sets = self.sets.of(slice(i, i + block))
            crossed |= (self._last(sets, before[:, None]) != self._last(sets, after[:, None])).any(axis=1)
        return crossed

    def cut(self, times: Array, cut: Array) -> None:
        """Mark the times that an edge separates from the previous one."""
        for i in range(len(self.sets)):
            last = self._last(self.sets.of(i), times)
            cut[1:] |= last[1:] != last[:-1]

    @staticmethod
    def _last(sets: Periods, time: Any) -> Array:
        """The last edge at or before ``time``, of each set."""
        return sets.first_behind(time) - 1


def numbered(first: Array, counts: Array) -> tuple[Array, Array]:
    """(i, first[i] + j) for each i and each j below counts[i].

    >>> numbered(np.array([5, 9, 2]), np.array([2, 0, 3]))
    (array([0, 0, 2, 2, 2]), array([5, 6, 2, 3, 4]))
    """
    counts = counts.astype(np.int64)
    which = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return which, first[which] + (np.arange(len(which)) - begins[which]).astype(first.dtype)


def _reduced(shift: Any, slide: Any, offset: Any, dtype: Any) -> tuple[Any, Any, Any]:
    return (0, slide, (offset + shift) % slide) if np.dtype(dtype).kind == "i" else (shift, slide, offset)


def least(times: Array) -> Iterator[Any]:
    """The least of some times, if there is any."""
    if len(times):
        yield times.min()

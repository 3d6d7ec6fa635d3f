"""Base intervals (B-Int) of Arasu and Widom, which the Reactive Aggregator is compared with.

Of level l are the intervals [i · 2^l, (i + 1) · 2^l) of positions in the stream, each with the merged partials of its
values, made of its two halves when its last value comes. A window is a run of the longest that fit:

    level 2   |               a               |               b               |
    level 1   |       c       |       d       |       e       |       f       |
    level 0   |   g   |   h   |   i   |   j   |   k   |   l   |   m   |   n   |
                      [------------- window ------------------]     h ⊕ d ⊕ e ⊕ m

"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from sash import Aggregation

__all__ = ["BaseIntervals"]


class BaseIntervals:
    """A FIFO window of at most ``most`` values: insert 1 merge amortised, evict none, query ≤ 2 log n; 2n partials."""

    def __init__(self, aggregation: Aggregation, most: int) -> None:
        self._aggregation, self._combine = aggregation, aggregation.combine
        depth = max(most - 1, 1).bit_length()
        self._levels: list[list[Any]] = [[None] * (1 << (depth - level)) for level in range(depth + 1)]
        self._low = self._high = 0

    def __len__(self) -> int:
        return self._high - self._low

    def insert(self, value: Any) -> None:
        """Take a value, and close the intervals that end with it."""
        place, below = self._high, self._levels[0]
        self._high += 1
        below[place % len(below)] = self._aggregation.lift(value)
        for level in self._levels[1:]:
            if not place & 1:
                break
            closed = self._combine(below[(place - 1) % len(below)], below[place % len(below)])
            place, below = place >> 1, level
            below[place % len(below)] = closed

    def insert_many(self, values: Iterable[Any]) -> None:
        """Take values one after the other."""
        for value in values:
            self.insert(value)

    def evict_many(self, count: int) -> None:
        """Let the oldest go."""
        self._low += count

    def query(self) -> Any:
        """The result of the values in the window, of which there is at least one."""
        return self._aggregation.lower(reduce(self._combine, self._run()))

    def _run(self) -> Iterator[Any]:
        place, high, top = self._low, self._high, len(self._levels) - 1
        while place < high:
            aligned = (place & -place).bit_length() - 1 if place else top
            level = min(aligned, (high - place).bit_length() - 1, top)
            intervals = self._levels[level]
            yield intervals[(place >> level) % len(intervals)]
            place += 1 << level

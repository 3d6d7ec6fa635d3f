"""Log MTA: a binary tree of sums over the window, in levels, of which the two edges are kept up to date.

           total                      the root's two children are left[-1] and right[-1]
       L           R
     L   ·       ·   R                L: what is live of the leftmost element of each level, without what has left
    L  · · ·   · · R                  R: the rightmost element of each level, as far as it has arrived

An insert renews the right edge from leaf to root, an eviction, of one value or of many, the left edge. (MTA paper,
section 4.1, algorithms 1 and 2.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sash.aggregations.base import Aggregation
from sash.aggregations.laws import alike
from sash.aggregators.mta import MTA, Levels

__all__ = ["LogMTA"]

Get = Callable[[int, int], Any]


class LogMTA(MTA):
    """O(log n) a step, and as much for evicting any number of values at once.

    Combines: insert ≤ log2(n) + 2, evict ≤ log2(n) + 1, as many for ``evict_many``, query 0; insert_many of m values
    ≤ m + 2 log2(n) + 3. Holds at most 2n partials and 130 on each of log2(all values so far) levels.

    >>> import sash
    >>> window = sash.aggregators.LogMTA(sash.Concat())
    >>> window.insert_many("abcdefgh"); window.evict_many(5); window.query()
    'f,g,h'
    """

    def __init__(self, aggregation: Aggregation, levels: Levels | None = None) -> None:
        super().__init__(aggregation, levels)
        self._left: list[Any] = []
        self._right: list[Any] = []
        self._root: Any = None

    @staticmethod
    def _count(level: int, end: int) -> int:
        return end >> level

    @property
    def partials(self) -> int:
        return self._levels.held + len(self._left) + len(self._right) + 1

    def total(self) -> Any:
        return self._root

    def _push(self, partial: Any) -> None:
        levels, front, position = self._levels, self._front, self._end
        if levels.is_full:
            levels.make_room()
        left, root = self._left, self._root
        height = (front ^ position).bit_length()
        right = self._right_edge(height, position, partial, levels.get)
        if height:
            left = left + [root] * (height - len(left))  # what the root covered is all left of the new value
            root = self._combine(left[-1], right[-1])
        else:
            root = partial
        complete = [partial]
        level = 1
        while not (position + 1) & ((1 << level) - 1):
            covers = position + 1 - (1 << level) >= front
            complete.append((right[level] if level < height else root) if covers else None)
            level += 1
        for level, element in enumerate(complete):
            levels.append(level, element)
        self._left, self._right, self._root, self._end = left, right, root, position + 1

    def _right_edge(self, height: int, position: int, partial: Any, get: Get) -> list[Any]:
        """What has arrived of the elements that cover ``position``, up to the root's child."""
        edge, combine = [partial] if height else [], self._combine
        for level in range(height - 1):
            index = position >> level
            edge.append(combine(get(level, index - 1), edge[-1]) if index & 1 else edge[-1])
        return edge

    def _left_edge(self, height: int, front: int, get: Get) -> list[Any]:
        """What is left of the elements that cover ``front``, up to the root's child."""
        edge, combine = [get(0, front)] if height else [], self._combine
        for level in range(height - 1):
            index = front >> level
            edge.append(edge[-1] if index & 1 else combine(edge[-1], get(level, index + 1)))
        return edge

    def _edges(self, front: int, last: int, get: Get) -> tuple[list[Any], list[Any], Any]:
        """Both edges and the root of a window from ``front`` to ``last``."""
        height = (front ^ last).bit_length()
        newest = get(0, last)
        left, right = self._left_edge(height, front, get), self._right_edge(height, last, newest, get)
        return left, right, self._combine(left[-1], right[-1]) if height else newest

    def _extend(self, partials: Sequence[Any], added: list[list[Any]]) -> None:

        def get(level: int, index: int) -> Any:
            """An element of the levels, or one about to be added."""
            known = self._count(level, self._end)
            return self._levels.get(level, index) if index < known else added[level][index - known]

        edges = self._edges(self._front, self._end + len(partials) - 1, get)
        self._append_all(added)
        self._left, self._right, self._root = edges

    def _renew(self) -> None:
        if len(self):
            self._left, self._right, self._root = self._edges(self._front, self._end - 1, self._levels.get)

    def _pop_many(self, count: int) -> None:
        front, last = self._front + count, self._end - 1
        if front > last:
            self._left, self._right, self._root = [], [], None
        else:
            height = (front ^ last).bit_length()
            left = self._left_edge(height, front, self._levels.get)
            root = self._combine(left[-1], self._right[height - 1]) if height else self._levels.get(0, last)
            self._left, self._right, self._root = left, self._right[:height], root
        self._move_front(front)

    def _check(self) -> None:
        self._check_levels()
        if len(self):
            edges = self._edges(self._front, self._end - 1, self._levels.get)
            assert alike((self._left, self._right, self._root), edges)

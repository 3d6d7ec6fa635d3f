"""The stream slicer's clock: where the next edge of any window is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from heapq import heapify, heapreplace
from typing import Any

__all__ = ["EdgeClock"]


class EdgeClock:
    """The next edge behind a time, over many windows. The one found last is remembered: most tuples lie before it.

    O(log windows) for each edge passed, as long as times advance; a time before the last one asks every window.

    >>> clock = EdgeClock([lambda t: t - t % 10 + 10, lambda t: t - t % 15 + 15])
    >>> [clock.next(time) for time in [1, 9, 10, 14, 16, 3]]
    [10, 10, 15, 15, 20, 10]
    """

    def __init__(self, next_edges: Sequence[Callable[[Any], Any]]) -> None:
        self._next_edges = next_edges
        self._heap: list[tuple[Any, int]] = []
        self._from: Any = math.inf  # behind it, up to the edge, that is the next
        self._edge: Any = -math.inf

    def next(self, after: Any) -> Any:
        """The first edge behind ``after``; infinity if there is none."""
        if self._from <= after < self._edge:
            return self._edge
        if not self._next_edges:
            return math.inf
        if after < self._from and self._heap:
            return min(next_edge(after) for next_edge in self._next_edges)
        if not self._heap:
            self._heap = [(next_edge(after), i) for i, next_edge in enumerate(self._next_edges)]
            heapify(self._heap)
        while (first := self._heap[0])[0] <= after:
            heapreplace(self._heap, (self._next_edges[first[1]](after), first[1]))
        self._from, self._edge = after, self._heap[0][0]
        return self._edge

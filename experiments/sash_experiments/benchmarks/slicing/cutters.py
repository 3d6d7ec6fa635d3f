"""Pairs and Cutty: slicing techniques for tuples in order, which the paper's figure 8 compares with its own.

A slice starts with the first tuple at or after an edge. Windows [k·slide, k·slide + range) with range no multiple of
slide have two edges a slide, for Pairs, and one for Cutty, which reads a window's end off the slice that is still open:

    time      0     1     2     3     4     5     6     7     8     9     10    11    12
    windows   [---------------- W[10, 3] ----------------------------------)
                                [---------------- the next ---------------------------------…
    Pairs     |  s1 = 1   |.. s2 = 2 ..  edges at k·3, where windows start, and at k·3 + 1, where they end
    Cutty     |                 |                 |                 |     edges at k·3

| technique | slices of W[r, s] held | a window is complete |
| --- | --- | --- |
| Pairs (Krishnamurthy, Wu and Franklin, 2006) | 2 ⌊r/s⌋ + 1, or r/s if s divides r | its slices are merged: O(slices) |
| Cutty (Carbone et al., 2016) | ⌈r/s⌉ | a tree on slices, and the open one: O(log slices) |
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heapify, heapreplace
from typing import Any

import sash
from sash_experiments.benchmarks.slicing.baselines import Extents, OnTuples, Row, Stretches, merged

__all__ = ["Cutty", "Pairs"]


class Cutter(OnTuples):
    """What both share: one slice a tuple, and edges in a heap, of which each is computed when the one before passes.

    A tuple costs one comparison and one merge, unless it starts a slice.
    """

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        if delay:
            raise ValueError(f"{type(self).__name__} takes tuples in order only; got a delay of {delay}")
        super().__init__(extents, aggregation, gap, delay)
        self.starts: list[int] = []
        """Of each slice that is held."""
        self._edges: list[tuple[int, int]] = []
        self._last = 0

    def edges_of(self, size: int, slide: int) -> set[int]:
        """Where in each slide of a window slices start."""
        raise NotImplementedError

    def append(self, partial: Any) -> None:
        """Start a slice with a tuple's partial."""
        raise NotImplementedError

    def extend(self, partial: Any) -> None:
        """Merge a tuple's partial into the open slice."""
        raise NotImplementedError

    def forget(self, count: int) -> None:
        """Let go of the oldest slices."""
        raise NotImplementedError

    @property
    def slices(self) -> int:
        """How many are held."""
        return len(self.starts)

    def process(self, row: Row) -> list[Row]:
        """Windows that end with a tuple are complete before it joins the open slice."""
        time, found = row["ts"], list[Row]()
        if time < self.watermark:
            return found
        if time > self.watermark and self._timers:
            self.watermark = time
            found = self.fire()
        self.watermark = time
        self.add(time, row[self.column])
        return found

    def put(self, time: int, value: Any) -> None:
        partial = self.aggregation.lift(value)
        if self.starts and time < self._edges[0][0] and not self._session_starts(time):
            self.extend(partial)
        else:
            self._pass_edges(time)
            self.starts.append(time)
            self.append(partial)
        self._last = time

    def _session_starts(self, time: int) -> bool:
        return self.sessions is not None and time - self._last >= self.sessions.gap

    def _pass_edges(self, time: int) -> None:
        if not self._edges:
            for size, slide in self.extents:
                self._edges += [(time // slide * slide + at, slide) for at in self.edges_of(size, slide)]
            heapify(self._edges)
        while self._edges[0][0] <= time:
            edge, slide = self._edges[0]
            heapreplace(self._edges, (edge + ((time - edge) // slide + 1) * slide, slide))

    def drop(self, upto: int) -> None:
        gone = min(bisect_left(self.starts, upto), len(self.starts) - 1)
        del self.starts[:gone]
        self.forget(gone)


class Pairs(Cutter):
    """Slices between the starts and the ends of windows, merged one by one when a window is complete."""

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        if gap is not None:
            raise ValueError("Pairs has windows on time only; got a session")
        super().__init__(extents, aggregation, gap, delay)
        self._partials: list[Any] = []

    def edges_of(self, size: int, slide: int) -> set[int]:
        return {0, size % slide}

    def append(self, partial: Any) -> None:
        self._partials.append(partial)

    def extend(self, partial: Any) -> None:
        self._partials[-1] = self.aggregation.combine(self._partials[-1], partial)

    def forget(self, count: int) -> None:
        del self._partials[:count]

    def total(self, start: int, end: int) -> Any:
        low, high = bisect_left(self.starts, start), bisect_left(self.starts, end)
        if self.holistic:
            return merged(self.aggregation.combine, self._partials[low:high])
        partial, combine = None, self.aggregation.combine
        for slice_ in self._partials[low:high]:
            partial = combine(partial, slice_)
        return partial


class Cutty(Cutter):
    """Slices from one start of a window to the next: a tree on those that are complete, and the open one."""

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        super().__init__(extents, aggregation, gap, delay)
        self._tree = Stretches(sash.aggregation(lift=_itself, combine=aggregation.combine, name="slices"))
        self._open: Any = None

    def edges_of(self, size: int, slide: int) -> set[int]:
        return {0}

    def append(self, partial: Any) -> None:
        if len(self.starts) > 1:
            self._tree.insert(self._open)
        self._open = partial

    def extend(self, partial: Any) -> None:
        self._open = self.aggregation.combine(self._open, partial)

    def forget(self, count: int) -> None:
        self._tree.evict_many(count)

    def total(self, start: int, end: int) -> Any:
        low, high = bisect_left(self.starts, start), bisect_left(self.starts, end)
        closed = min(high, len(self._tree))
        partial = self._tree.between(low, closed) if low < closed else None
        return partial if high == closed or low == high else self.aggregation.combine(partial, self._open)


def _itself(partial: Any) -> Any:
    return partial

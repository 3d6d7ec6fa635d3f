"""A tuple buffer of windows on counts, beside those on time in ``baselines``."""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heapify, heapreplace
from typing import Any

import sash
from sash_experiments.benchmarks.slicing.baselines import Baseline, Extents, Row, merged

__all__ = ["CountBuffer"]


class CountBuffer(Baseline):
    """A sorted array of tuples under windows [k·slide, k·slide + range) of their positions.

    A tuple has its position for good once the watermark has reached it: those of the same time count as they came. What
    is before all open windows is dropped.
    """

    def __init__(self, extents: Extents, aggregation: sash.Aggregation, gap: int | None = None, delay: int = 0) -> None:
        super().__init__(extents, aggregation, gap, delay)
        self._waiting: list[tuple[int, int, Any]] = []
        self._partials: list[Any] = []
        self._came = self._dropped = 0
        self._timers = [(size, i) for i, (size, _) in enumerate(extents)]
        heapify(self._timers)

    def add(self, time: int, value: Any) -> None:
        insort(self._waiting, (time, self._came, value))
        self._came += 1

    def fire(self) -> list[Row]:
        lift, waiting = self.aggregation.lift, self._waiting
        settled = bisect_left(waiting, (self.watermark + 1,))
        self._partials += [lift(value) for _, _, value in waiting[:settled]]
        del waiting[:settled]
        found, timers, count = [], self._timers, self._dropped + len(self._partials)
        while timers[0][0] <= count:
            end, i = timers[0]
            size, slide = self.extents[i]
            heapreplace(timers, (end + slide, i))
            part = self._partials[end - size - self._dropped : end - self._dropped]
            found.append((end, i, end - size, merged(self.aggregation.combine, part)))
        if found:
            oldest = min(end - self.extents[i][0] for end, i in timers)
            del self._partials[: oldest - self._dropped]
            self._dropped = oldest
        return self.in_order(found) if found else []

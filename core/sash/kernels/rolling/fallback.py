"""The same windows row by row, for what cannot be compiled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.aggregators.two_stacks_lite import TwoStacksLite
from sash.kernels.rolling.inputs import Columns
from sash.values.arrays import results_of

__all__ = ["Interpreted"]


class Interpreted:
    """Two-Stacks Lite led over a count window."""

    def __init__(self, aggregation: Aggregation, range_: int, slide: int, early: bool, reason: str) -> None:
        self.aggregation = aggregation
        self.range = range_
        self.slide = slide
        self.early = early
        self.reason = reason
        self.window = TwoStacksLite(aggregation)
        self.count = 0

    def plan(self) -> list[str]:
        """How it is run, and why."""
        return ["algorithm  TwoStacksLite", f"compiled   no: {self.reason}"]

    def feed(self, batch: Columns, windows: int, room: Any = None) -> Any:
        """Run a batch that completes so many windows, or leave everything as it was."""
        window = self.window
        memo = (window._front[:], window._back[:], window._back_agg, self.count)
        try:
            results = [window.query() for value in self._values(batch) if self._completes(value)]
            found = results_of(results, self.aggregation.fields, batch.result_type)
            return found if room is None else self._fill(room, found)
        except BaseException:
            window._front, window._back, window._back_agg, self.count = memo
            raise

    def feed_groups(self, batch: Columns, starts: list[int]) -> tuple[Any, Any]:
        """(ends, results) of every group of rows apart."""
        values = list(self._values(batch))
        ends, results = [], []
        for begin, end in pairwise(starts):
            self.window, self.count = TwoStacksLite(self.aggregation), 0
            for row in range(begin, end):
                if self._completes(values[row]):
                    ends.append(row)
                    results.append(self.window.query())
        return np.array(ends, np.int64), results_of(results, self.aggregation.fields, batch.result_type)

    def _fill(self, room: Any, found: Any) -> Any:
        for array, part in zip(*((room, found) if self.aggregation.fields else ((room,), (found,))), strict=True):
            array[:] = part
        return room

    def _completes(self, value: Any) -> bool:
        if len(self.window) == self.range:
            self.window.evict()
        self.window.insert(value)
        self.count += 1
        return (self.count - self.range) % self.slide == 0 and (self.early or self.count >= self.range)

    def _values(self, batch: Columns) -> Iterator[Any]:
        columns = [array.tolist() for array in batch.arrays]
        rows = columns[0] if len(columns) == 1 else zip(*columns, strict=True)
        if batch.nulls is None:
            return iter(rows)
        none = None if len(columns) == 1 else (None,) * len(columns)
        return (none if null else row for row, null in zip(rows, batch.nulls.tolist(), strict=True))

"""Quantiles over count windows: :class:`sash.kernels.rolling.windows.CompiledRolling` by the ranks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregations.quantiles import Quantile
from sash.kernels.inputs import Array, InputColumns
from sash.kernels.order_statistics import quantiles_of_ranges
from sash.values.arrays import results_of, with_nulls

__all__ = ["RankedRolling"]


class RankedRolling:
    """One window and the rows that windows to come still need. O(1) a row after a sort of each batch."""

    def __init__(self, aggregation: Quantile, range_: int, slide: int, early: bool) -> None:
        self.aggregation = aggregation
        self.range, self.slide, self.early = range_, slide, early
        self._first = (range_ % slide or slide) if early else range_  # where the first window ends
        self._rows = self._done = 0
        self._kept: InputColumns | None = None

    def plan(self) -> list[str]:
        """How it is run, and why."""
        return ["algorithm  by ranks: one sort of the rows, then O(1) for each that enters or leaves", "compiled   yes"]

    def feed(self, batch: InputColumns, windows: int, out: Any = None) -> Any:
        """Run a batch that completes so many windows, or leave everything as it was."""
        values, nulls = _joined(self._kept, batch)
        before = self._rows + len(batch.arrays[0]) - len(values)  # rows that are not kept
        ends = self._first + self.slide * np.arange(self._done, self._done + windows) - before
        starts = np.maximum(ends - self.range, -before)
        result = self._results(values, nulls, starts, ends)
        if out is not None:
            out[:] = result
            result = out
        tail = slice(max(0, len(values) - self.range + 1), None)
        self._kept = InputColumns((values[tail].copy(),), None if nulls is None else nulls[tail].copy(), None)
        self._rows, self._done = self._rows + len(batch.arrays[0]), self._done + windows
        return result

    def feed_groups(self, batch: InputColumns, starts: Array) -> tuple[Array, Any]:
        """(the rows that complete windows, results) of every group of rows apart."""
        values, nulls = _joined(None, batch)
        windows = np.maximum((np.diff(starts) - self._first) // self.slide + 1, 0)
        begin = np.repeat(starts[:-1], windows)
        number = np.arange(len(begin)) - np.repeat(np.cumsum(windows) - windows, windows)
        ends = begin + self._first + number * self.slide
        return ends - 1, self._results(values, nulls, np.maximum(ends - self.range, begin), ends)

    def _results(self, values: Array, nulls: Array | None, lo: Array, hi: Array) -> Any:
        results, empty = quantiles_of_ranges(self.aggregation, values, nulls, lo, hi)
        if results.dtype == object:
            return results_of(results.tolist(), self.aggregation.fields, None)
        return with_nulls(results, empty)


def _joined(kept: InputColumns | None, batch: InputColumns) -> tuple[Array, Array | None]:
    """The values of both as Python would have them, in the widest type of their kind, and which are null."""
    (values,), nulls = batch.arrays, batch.nulls
    if values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)
    elif values.dtype.kind in "iu" and values.dtype != np.uint64:
        values = values.astype(np.int64, copy=False)
    if kept is None:
        return values, nulls
    size = len(kept.arrays[0]), len(values)
    values = np.concatenate([kept.arrays[0], values])
    if kept.nulls is None and nulls is None:
        return values, None
    parts = (kept.nulls, nulls)
    filled = [np.zeros(many, np.bool_) if part is None else part for many, part in zip(size, parts, strict=True)]
    return values, np.concatenate(filled)

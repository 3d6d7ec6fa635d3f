"""What cannot be compiled runs in Python: objects in, objects out, by the same merges as the kernels make."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.aggregators.sba import SBA, Chunk, extend_csa
from sash.kernels.inputs import Array, InputColumns, as_columns
from sash.kernels.ranges.partials import SHORT, Partials, RangeTotals, by_level
from sash.values import PerformanceWarning
from sash.values.arrays import data_of, results_of
from sash.values.columns import PartialColumn
from sash.values.shares import Shares

__all__ = ["PythonAggregate", "PythonRolling", "warn_in_python"]


def warn_in_python(what: str, reason: str) -> None:
    """Warn, at the line of the user's code, that something runs in Python, and say why."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("sash."):
        depth, frame = depth + 1, frame.f_back
    message = f"{what} runs row by row in Python, which is slower: {reason}"
    warnings.warn(message, PerformanceWarning, stacklevel=depth)


class PythonAggregate:
    """:class:`sash.kernels.ranges.aggregate.RangesAggregate` in Python. Partials are (valid, objects): those of rows.

    ``reason`` tells why it is not compiled.
    """

    compiled = False
    cached = False
    seconds = 0.0

    def __init__(self, aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...] = (), reason: str = "") -> None:
        self.aggregation = aggregation
        self.reason = reason
        empty = tuple(np.empty(0, dtype) for dtype in dtypes)
        kind = as_columns(aggregation, empty, None).result_type if empty else None
        if kind is None and empty and aggregation.result_column is not None:
            kind = dtypes[aggregation.result_column]
        self._result_type = kind

    def reduce(self, columns: InputColumns, starts: Array) -> Partials:
        lift, combine = self.aggregation.lift, self.aggregation.combine
        rows = list(_rows(columns, int(starts[-1])))
        partials = []
        for begin, end in pairwise(starts.tolist()):
            total = lift(rows[begin])
            for row in rows[begin + 1 : end]:
                total = combine(total, lift(row))
            partials.append(total)
        return _partials(partials)

    def scatter(self, columns: InputColumns, slots: Array, size: int, shares: Shares | None = None) -> Partials:
        partials = [None] * size
        for row, slot in zip(_rows(columns, len(slots)), slots.tolist(), strict=True):
            partials[slot] = self.aggregation.combine(partials[slot], self.aggregation.lift(row))
        return _partials(partials)

    def merge(self, a: Partials, b: Partials) -> Partials:
        return _partials(list(map(self.aggregation.combine, a[1], b[1])))

    def accumulate(self, partials: Partials, begins: Array) -> Partials:
        totals: list[Any] = []
        for partial, is_first in zip(partials[1].tolist(), begins.tolist(), strict=True):
            totals.append(partial if is_first else self.aggregation.combine(totals[-1], partial))
        return _partials(totals)

    def totals(self, partials: Partials, lo: Array, hi: Array) -> RangeTotals:
        totals, merges = self._totals(partials, lo, hi)
        return RangeTotals(*self._as_results(list(map(self.aggregation.lower, totals))), merges)

    def partials(self, partials: Partials, lo: Array, hi: Array) -> Partials:
        return _partials(self._totals(partials, lo, hi)[0])

    def _totals(self, partials: Partials, lo: Array, hi: Array) -> tuple[list[Any], int]:
        """The partial of each range, and how many merges they took."""
        slices, begins, ends = (array.tolist() for array in (partials[1], lo, hi))
        totals: list[Any] = [None] * len(lo)
        merges = 0
        for level, which in by_level(lo, hi):
            ranges = _Ranges(self.aggregation, slices, level)
            for place in range(len(lo)) if which is None else which.tolist():
                totals[place] = ranges.total(begins[place], ends[place])
            merges += ranges.merges
        return totals, merges

    def empty(self, size: int) -> Partials:
        return (np.zeros(size, np.bool_), np.full(size, None, object))

    def to_column(self, partials: Partials) -> PartialColumn:
        return PartialColumn.of(partials[1].tolist())

    def from_column(self, column: PartialColumn) -> Partials:
        return _partials(column.to_list())

    def _as_results(self, results: list[Any]) -> tuple[Any, Array | None]:
        nulls = np.fromiter((result is None for result in results), np.bool_, len(results))
        arrays = results_of(results, self.aggregation.fields, self._result_type)
        values = tuple(map(data_of, arrays)) if isinstance(arrays, tuple) else data_of(arrays)
        return values, nulls if nulls.any() else None


class _Ranges:
    """Totals of ranges of one level, in the order of their first chunks: see :mod:`sash.kernels.ranges.partials`.

    ``lcs`` and ``csa`` are computed as far as ranges need them.
    """

    def __init__(self, aggregation: Aggregation, slices: list[Any], level: int) -> None:
        self._combine = aggregation.combine
        self._slices = slices
        self._short, self._size = level == SHORT, 1 << level
        self._edge = 0
        self._lcs = Chunk(self._merge, [None], None)  # of the chunk before the edge
        self._csa: dict[int, list[Any]] = {}  # of chunks behind it, by their first slices
        self.merges = 0

    def total(self, low: int, high: int) -> Any:
        """The partial of the slices from ``low`` to before ``high``."""
        if self._short:
            return reduce(self._merge, self._slices[low:high])
        size = self._size
        edge = low - low % size + size
        if edge != self._edge:
            self._begin_chunk(edge)
        chunk, place = self._lcs, low - edge + size + 1
        if chunk.done > place:
            chunk.complete(place)
        total = chunk.lcs[place]
        if high > edge + size:
            total = self._merge(total, self._prefix(edge, edge + size))
            edge += size
        return self._merge(total, self._prefix(edge, high)) if high > edge else total

    def _begin_chunk(self, edge: int) -> None:
        self._edge = edge
        # what the whole chunk adds up to is not asked for: its place stays free
        self._lcs = Chunk(self._merge, [None, *self._slices[edge - self._size : edge]], None)
        self._csa = {begin: csa for begin, csa in self._csa.items() if begin >= edge}

    def _prefix(self, begin: int, high: int) -> Any:
        csa = self._csa.setdefault(begin, [])
        if len(csa) < high - begin:
            extend_csa(self._merge, csa, self._slices[begin + len(csa) : high])
        return csa[high - begin - 1]

    def _merge(self, a: Any, b: Any) -> Any:
        self.merges += 1
        return self._combine(a, b)


class PythonRolling:
    """:class:`sash.kernels.rolling.windows.CompiledRolling` in Python: SBA over the rows of a count window."""

    def __init__(self, aggregation: Aggregation, range_: int, slide: int, early: bool, reason: str) -> None:
        self.aggregation = aggregation
        self.early = early
        self.reason = reason
        self._window = SBA(aggregation, range_, slide)

    def plan(self) -> list[str]:
        """How it is run, and why."""
        return ["algorithm  SBA, row by row", f"compiled   no: {self.reason}"]

    def feed(self, batch: InputColumns, windows: int, out: Any = None) -> Any:
        """Run a batch that completes so many windows, or leave everything as it was."""
        memo = self._window._memo(len(batch.arrays[0]))
        try:
            results = [result for _, result in self._results(_rows(batch))]
            arrays = results_of(results, self.aggregation.fields, batch.result_type)
            return arrays if out is None else self._fill(out, arrays)
        except BaseException:
            self._window._restore(memo)
            raise

    def feed_groups(self, batch: InputColumns, starts: Array) -> tuple[Any, Any]:
        """(ends, results) of every group of rows apart."""
        rows = list(_rows(batch))
        ends, results = [], []
        for begin, end in pairwise(starts.tolist()):
            self._window = SBA(self.aggregation, self._window.range, self._window.slide)
            for place, result in self._results(rows[begin:end]):
                ends.append(begin + place)
                results.append(result)
        return np.array(ends, np.int64), results_of(results, self.aggregation.fields, batch.result_type)

    def _results(self, rows: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Which row of these completes a window, and the result."""
        window = self._window
        for place, row in enumerate(rows):
            if window.insert(row):
                yield place, window.query()
            elif self.early and not window.full and (window.range - len(window)) % window.slide == 0:
                yield place, self.aggregation.lower(window.total_so_far())

    def _fill(self, out: Any, arrays: Any) -> Any:
        for array, part in zip(*((out, arrays) if self.aggregation.fields else ((out,), (arrays,))), strict=True):
            array[:] = part
        return out


def _rows(columns: InputColumns, size: int = 0) -> Iterator[Any]:
    """Values, or tuples of them, with None for nulls; without a column, None ``size`` times."""
    lists = [array.tolist() for array in columns.arrays]
    if not lists:
        return iter([None] * size)
    rows = lists[0] if len(lists) == 1 else zip(*lists, strict=True)
    if columns.nulls is None:
        return iter(rows)
    none = None if len(lists) == 1 else (None,) * len(lists)
    return (none if null else row for row, null in zip(rows, columns.nulls.tolist(), strict=True))


def _partials(partials: list[Any]) -> Partials:
    array = np.empty(len(partials), object)
    for i, partial in enumerate(partials):  # in one go NumPy would look into them
        array[i] = partial
    return (np.array([partial is not None for partial in partials], np.bool_), array)

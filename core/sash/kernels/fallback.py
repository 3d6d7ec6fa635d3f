"""What cannot be compiled runs in Python: objects in, objects out, by the same merges as the kernels make."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, reduce, wraps
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np

from sash.aggregations.base import Aggregation, Flat, renamed
from sash.aggregators.sba import SBA, Chunk, extend_csa
from sash.kernels.inputs import Array, InputColumns, as_columns
from sash.kernels.ranges.partials import SHORT, Partials, RangeTotals, by_level
from sash.kernels.rolling.kernels import backward_pass
from sash.kernels.tiers import Source, kernels_of
from sash.values import PerformanceWarning
from sash.values.arrays import data_of, results_of
from sash.values.columns import PartialColumn
from sash.values.shares import Shares

__all__ = ["PythonAggregate", "PythonRolling", "RowSuffixes", "warn_in_python"]


def warn_in_python(what: str, reason: str) -> None:
    """Warn, at the line of the user's code, that something runs in Python, and say why."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("sash."):
        depth, frame = depth + 1, frame.f_back
    message = f"{what} runs row by row in Python, which is slower: {reason}"
    warnings.warn(message, PerformanceWarning, stacklevel=depth)


_DTYPES: dict[type | None, np.dtype[Any]] = {int: np.dtype(np.int64), float: np.dtype(np.float64)}


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _naming(method: _Method) -> _Method:
    """Raise an error of the user's functions as one that names the aggregation."""

    @wraps(method)
    def run(self: PythonAggregate, *arguments: Any, **options: Any) -> Any:
        try:
            return method(self, *arguments, **options)
        except Exception as error:
            if repr(self.aggregation) in str(error):
                raise
            raise renamed(error, f"{self.aggregation!r}: {type(error).__name__}: {error}") from error

    return cast(_Method, run)


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
        self._result_type = _DTYPES.get(aggregation.result_kind) or kind
        self._flat = aggregation.flat()

    @cached_property
    def _row_suffixes(self) -> RowSuffixes | None:
        return None if self._flat is None else RowSuffixes(self._flat)

    @_naming
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

    @_naming
    def scatter(self, columns: InputColumns, slots: Array, size: int, shares: Shares | None = None) -> Partials:
        partials = [None] * size
        for row, slot in zip(_rows(columns, len(slots)), slots.tolist(), strict=True):
            partials[slot] = self.aggregation.combine(partials[slot], self.aggregation.lift(row))
        return _partials(partials)

    @_naming
    def merge(self, a: Partials, b: Partials) -> Partials:
        return _partials(list(map(self.aggregation.combine, a[1], b[1])))

    @_naming
    def accumulate(self, partials: Partials, begins: Array) -> Partials:
        totals: list[Any] = []
        for partial, is_first in zip(partials[1].tolist(), begins.tolist(), strict=True):
            totals.append(partial if is_first else self.aggregation.combine(totals[-1], partial))
        return _partials(totals)

    @_naming
    def suffixes(self, partials: Partials) -> Any:
        """``lcs``, as rows of an array if a kernel can merge them."""
        slices = partials[1].tolist()
        kernel = self._row_suffixes
        if kernel is None or self._flat is None:
            chunk = Chunk(self.aggregation.combine, [None, *slices], None)  # of which it computes all but the first
            chunk.complete()
            return chunk.lcs[1:]
        rows = np.array([self._flat.to_row(partial) for partial in slices], self._flat.dtype)
        kernel(rows)
        return rows

    def outputs(self, size: int) -> Any:
        return [None] * size

    @_naming
    def fill_ranges(self, outputs: Any, which: slice, partials: Partials, lo: Array, hi: Array) -> int:
        outputs[which], merges = self._totals(partials, lo, hi)
        return merges

    @_naming
    def fill_chunk(
        self, outputs: Any, which: slice, lcs: Any, csa: Partials, slices: Partials, lo: Array, hi: Array
    ) -> tuple[Partials, int]:
        sums = [csa[1][0]]
        extend_csa(self.aggregation.combine, sums, slices[1].tolist())
        read = (lambda partial: partial) if self._flat is None else self._flat.from_row
        outputs[which] = [
            self.aggregation.combine(read(lcs[low]), sums[high])
            for low, high in zip(lo.tolist(), hi.tolist(), strict=True)
        ]
        return _partials([sums[int(hi[-1])]]), len(lo) + len(sums) - 1

    @_naming
    def results(self, outputs: Any, order: Array | None) -> tuple[Any, Array | None]:
        totals = outputs if order is None else [outputs[place] for place in order.tolist()]
        return self._as_results(list(map(self.aggregation.lower, totals)))

    @_naming
    def totals(self, partials: Partials, lo: Array, hi: Array) -> RangeTotals:
        totals, merges = self._totals(partials, lo, hi)
        return RangeTotals(*self._as_results(list(map(self.aggregation.lower, totals))), merges)

    @_naming
    def partials(self, partials: Partials, lo: Array, hi: Array) -> Partials:
        return _partials(self._totals(partials, lo, hi)[0])

    def _totals(self, partials: Partials, lo: Array, hi: Array) -> tuple[list[Any], int]:
        """The partial of each range, None of an empty one; and how many merges they took."""
        held, totals = np.flatnonzero(hi > lo), list[Any]()
        if len(held) < len(lo):
            some, merges = self._totals(partials, lo[held], hi[held])
            totals = [None] * len(lo)
            for place, total in zip(held.tolist(), some, strict=True):
                totals[place] = total
            return totals, merges
        slices, begins, ends = (array.tolist() for array in (partials[1], lo, hi))
        totals = [None] * len(lo)
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


# Rows are merged in place, so their numbers stand for them.
_SUFFIXES = """
@part
def combine(rows, j, g):
    merge(rows[j], rows[g])
    return j

""" + backward_pass("@kernel\ndef suffixes(n, rows):", "j", context="rows, ")


class RowSuffixes:
    """The kernel that merges rows of an array in place. Compiled now: in another thread all would wait for it."""

    def __init__(self, flat: Flat) -> None:
        self._kernels = kernels_of(Source({"merge": flat.merge}, _SUFFIXES, flat.dtype, at_once=True))
        self(np.zeros((1, flat.width), flat.dtype))

    def __call__(self, rows: Array) -> None:
        if len(rows):
            self._kernels.run("suffixes", len(rows), (len(rows),), (rows,))

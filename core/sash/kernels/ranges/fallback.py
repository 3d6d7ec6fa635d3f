"""Slices and ranges of them in Python, for what cannot be compiled: objects in, objects out, the same merges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sash.aggregations.base import Aggregation
from sash.kernels.ranges.levels import SHORT, by_level
from sash.kernels.rolling.inputs import Array, Columns, as_columns
from sash.values.arrays import data_of, results_of
from sash.values.partial_column import PartialColumn

__all__ = ["InterpretedForm", "Partials", "Totals", "assign", "concatenate", "interpreted_form", "take"]

Partials = tuple[Array, ...]
"""Partials of one aggregate, one array a number. The first tells which are real: False is the identity, None."""


class Totals(NamedTuple):
    """Results of ranges: an array, or a tuple of arrays for a result of several parts; which are null (None: none is);
    and how many merges they took."""

    results: Any
    nulls: Array | None
    merges: int


def concatenate(parts: Sequence[Partials]) -> Partials:
    """All partials in one, in order; at least one part."""
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def take(partials: Partials, which: Any) -> Partials:
    """Those of a slice, an array of positions, or a mask. Of a slice it is a view."""
    return tuple(array[which] for array in partials)


def assign(partials: Partials, which: Any, values: Partials) -> None:
    """Put ``values`` in the place of those that ``take`` gives."""
    for array, value in zip(partials, values, strict=True):
        array[which] = value


def interpreted_form(
    aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...] = (), reason: str = ""
) -> InterpretedForm:
    """The form of ``aggregation`` that runs in Python; ``reason``: why it does."""
    return InterpretedForm(aggregation, dtypes, reason)


class InterpretedForm:
    """:class:`sash.kernels.ranges.form.SlicingForm` row by row. Partials are (valid, objects): those of the rows."""

    compiled = False
    cached = False
    seconds = 0.0

    def __init__(self, aggregation: Aggregation, dtypes: tuple[np.dtype[Any], ...], reason: str) -> None:
        self.aggregation = aggregation
        self.reason = reason
        empty = tuple(np.empty(0, dtype) for dtype in dtypes)
        kind = as_columns(aggregation, empty, None).result_type if empty else None
        if kind is None and empty and aggregation.result_column is not None:
            kind = dtypes[aggregation.result_column]
        self._kind = kind

    def reduce(self, columns: Columns, starts: Array) -> Partials:
        lift, combine = self.aggregation.lift, self.aggregation.combine
        rows = list(_rows(columns, int(starts[-1])))
        partials = []
        for begin, end in pairwise(starts.tolist()):
            total = lift(rows[begin])
            for row in rows[begin + 1 : end]:
                total = combine(total, lift(row))
            partials.append(total)
        return _of(partials)

    def scatter(self, columns: Columns, slots: Array, size: int) -> Partials:
        partials = [None] * size
        for row, slot in zip(_rows(columns, len(slots)), slots.tolist(), strict=True):
            partials[slot] = self.aggregation.combine(partials[slot], self.aggregation.lift(row))
        return _of(partials)

    def merge(self, a: Partials, b: Partials) -> Partials:
        return _of(list(map(self.aggregation.combine, a[1], b[1])))

    def totals(self, partials: Partials, lo: Array, hi: Array) -> Totals:
        results = [None] * len(lo)
        merges = 0
        for level, which in by_level(lo, hi):
            order = range(len(lo)) if which is None else which.tolist()
            ranges = _Ranges(self.aggregation, partials[1], level)
            for run in _runs(order, lo, level) if level > SHORT else []:
                ranges.answer(run, lo, hi, results)
            for query in order if level == SHORT else []:
                results[query] = ranges.fold(int(lo[query]), int(hi[query]))
            merges += ranges.merges
        lowered = list(map(self.aggregation.lower, results))
        return Totals(*self._as_results(lowered), merges)

    def empty(self, size: int) -> Partials:
        return (np.zeros(size, np.bool_), np.full(size, None, object))

    def to_column(self, partials: Partials) -> PartialColumn:
        return PartialColumn.of(partials[1].tolist())

    def from_column(self, column: PartialColumn) -> Partials:
        return _of(column.to_list())

    def _as_results(self, results: list[Any]) -> tuple[Any, Array | None]:
        nulls = np.fromiter((result is None for result in results), np.bool_, len(results))
        found = results_of(results, self.aggregation.fields, self._kind)
        values = tuple(map(data_of, found)) if isinstance(found, tuple) else data_of(found)
        return values, nulls if nulls.any() else None


class _Ranges:
    """The chunks of one level that the ranges at hand need, a run of ranges after the other."""

    def __init__(self, aggregation: Aggregation, slices: Array, level: int) -> None:
        self.combine = aggregation.combine
        self.slices = slices
        self.level = level
        self.csa: dict[int, Any] = {}
        self.merges = 0

    def answer(self, run: list[int], lo: Array, hi: Array, results: list[Any]) -> None:
        """Ranges that all begin in one chunk."""
        size = 1 << self.level
        edge = ((int(lo[run[0]]) >> self.level) + 1) * size
        lcs = self._suffixes(int(lo[run].min()), edge)
        self._prefixes(edge, int(hi[run].max()))
        for query in run:
            end = int(hi[query])
            total = lcs[int(lo[query]) - edge]
            if end > edge + size:
                total = self._merge(total, self.csa[edge + size - 1])
            results[query] = self._merge(total, self.csa[end - 1]) if end > edge else total

    def fold(self, begin: int, end: int) -> Any:
        """A range that has no use for chunks."""
        total = self.slices[begin]
        for i in range(begin + 1, end):
            total = self._merge(total, self.slices[i])
        return total

    def _suffixes(self, begin: int, edge: int) -> list[Any]:
        """``lcs`` of the chunk that ends at ``edge``, as far back as it is needed."""
        suffixes = [self.slices[edge - 1]]
        for i in range(edge - 2, begin - 1, -1):
            suffixes.append(self._merge(self.slices[i], suffixes[-1]))
        return suffixes[::-1]

    def _prefixes(self, edge: int, end: int) -> None:
        """``csa`` of the chunks behind ``edge``, on from where it is known."""
        known = {i: prefix for i, prefix in self.csa.items() if i >= edge}
        for i in range(max(known, default=edge - 1) + 1, end):
            begins = i % (1 << self.level) == 0
            known[i] = self.slices[i] if begins else self._merge(known[i - 1], self.slices[i])
        self.csa = known

    def _merge(self, a: Any, b: Any) -> Any:
        self.merges += 1
        return self.combine(a, b)


def _runs(order: Sequence[int], lo: Array, level: int) -> Iterator[list[int]]:
    """Neighbours in the order that begin in the same chunk."""
    chunks = (lo[order] >> level).tolist()
    run: list[int] = []
    for query, (chunk, before) in zip(order, zip(chunks, [None, *chunks], strict=False), strict=True):
        if run and chunk != before:
            yield run
            run = []
        run.append(query)
    if run:
        yield run


def _rows(columns: Columns, size: int) -> Iterator[Any]:
    """Values, or tuples of them, with None for nulls; without a column, None."""
    lists = [array.tolist() for array in columns.arrays]
    if not lists:
        return iter([None] * size)
    rows = lists[0] if len(lists) == 1 else zip(*lists, strict=True)
    if columns.nulls is None:
        return iter(rows)
    none = None if len(lists) == 1 else (None,) * len(lists)
    return (none if null else row for row, null in zip(rows, columns.nulls.tolist(), strict=True))


def _of(partials: list[Any]) -> Partials:
    return (np.array([partial is not None for partial in partials], np.bool_), _objects(partials))


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), object)
    for i, value in enumerate(values):  # in one go NumPy would look into them
        array[i] = value
    return array

"""Medians and quantiles of ranges of slices, by the ranks of their rows (:mod:`sash.kernels.order_statistics`).

Where all rows are there at once, slices are bounds among them (:class:`RankedRanges`). In a stream a slice keeps its
values as rows do, sorted and counted; for the windows that a batch completes they are laid side by side, and ranked
together (:class:`RankedSlices`, and :class:`RankedObjects` for times, durations, decimals and texts).

    slices    3 5 5 | 1 4 | 2        ranges of slices are ranges of values
    offsets   0       3     5   6
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from fractions import Fraction
from itertools import chain, count, repeat
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.kernels.fallback import PythonAggregate
from sash.kernels.inputs import Array, InputColumns
from sash.kernels.kinds import NotCompilable
from sash.kernels.order_statistics import Ranks, join_columns
from sash.kernels.ranges.partials import Partials, RangeTotals, take
from sash.values.arrays import objects
from sash.values.columns import PartialColumn
from sash.values.shares import Shares

__all__ = ["RankedObjects", "RankedRanges", "RankedSlices", "ranked_slices"]

DTypes = tuple[np.dtype[Any], ...]
Ranked = list[tuple[Array, Ranks]]
"""Ranges in parts in which neither bound descends: which they are, and their ranks."""
_NONE = np.zeros(0, np.int64)


class _Ranked(PythonAggregate):
    """Totals of ranges of rows, wherever these are."""

    compiled = True
    builtin = True
    merge_ns: float | None = None
    """Its merges are not worth another thread, so they are not measured."""

    def rank(self, every: Sequence[Aggregation], partials: Partials, lo: Array, hi: Array) -> Ranked:
        """The rows of partials lo[i] … hi[i] - 1 for each i, for quantiles of several forms with these partials."""
        raise NotImplementedError

    def totals(self, partials: Partials, lo: Array, hi: Array) -> RangeTotals:
        return self.quantiles(self.rank([self.aggregation], partials, lo, hi))

    @staticmethod
    def _rank(
        every: Sequence[Aggregation],
        values: Array,
        nulls: Array | None,
        begins: Array,
        ends: Array,
        distinct: Array | None = None,
    ) -> Ranked:
        """Rows begins[i] … ends[i] - 1 for each i; ``distinct`` as :class:`Ranks` takes it.

        Costs O(1) a row that enters or leaves, after a sort of the rows, where ranges begin and end in one order.
        """
        begins, ends = np.where(ends > begins, begins, 0), np.where(ends > begins, ends, 0)
        order, parts = np.lexsort((ends, begins)), []
        while len(order):  # once, unless ranges lie within others
            forward = ends[order] == np.maximum.accumulate(ends[order])
            part, order = order[forward], order[~forward]
            parts.append((part, Ranks(every, values, nulls, begins[part], ends[part], distinct)))
        return parts

    def quantiles(self, ranked: Ranked) -> RangeTotals:
        """The results of this form's aggregation."""
        parts = [(part, *ranks.quantiles(self.aggregation)) for part, ranks in ranked]
        if not parts:
            return super().totals(super().empty(0), _NONE, _NONE)
        size = sum(len(part) for part, *_ in parts)
        results, empty = np.empty(size, parts[0][1].dtype), np.zeros(size, np.bool_)
        for part, of_part, null in parts:
            results[part] = of_part
            empty[part] = False if null is None else null
        if results.dtype == np.float64:
            return RangeTotals(results, empty if empty.any() else None, 0)
        results = objects(results.tolist())
        results[empty] = None
        return RangeTotals(*self._as_results(results.tolist()), 0)


class RankedRanges(_Ranked):
    """Slices of rows that are all there at once: a partial is where its rows begin and end."""

    def reduce(self, columns: InputColumns, starts: Array) -> Partials:
        self._values, self._nulls = join_columns(None, columns)
        return np.ones(len(starts) - 1, np.bool_), starts[:-1].copy(), starts[1:].copy()

    def merge(self, a: Partials, b: Partials) -> Partials:
        return a[0], a[1], b[2]

    def empty(self, size: int) -> Partials:
        return np.ones(size, np.bool_), np.zeros(size, np.int64), np.zeros(size, np.int64)

    def rank(self, every: Sequence[Aggregation], partials: Partials, lo: Array, hi: Array) -> Ranked:
        if not len(lo):
            return []
        begins, ends = partials[1][np.minimum(lo, len(partials[1]) - 1)], partials[2][hi - 1]
        begins[hi <= lo] = ends[hi <= lo] = 0
        return self._rank(every, self._values, self._nulls, begins, ends)


class RankedSlices(_Ranked):
    """Slices of a stream, of numbers. A partial is that of rows, or, of a single value as windows of counts have it,
    that value alone: (whether there is any, whether it is alone, the value, partials of rows for the others)."""

    def __init__(self, aggregation: Aggregation, dtypes: DTypes) -> None:
        super().__init__(aggregation, dtypes)
        (dtype,) = dtypes
        if dtype.kind not in "iuf" or dtype == np.uint64:
            raise NotCompilable(f"a column is of type {dtype}, not of numbers of 64 bits")
        self._number = np.dtype(np.float64 if dtype.kind == "f" else np.int64)

    def reduce(self, columns: InputColumns, starts: Array) -> Partials:
        slots = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return self.scatter(columns, slots, len(starts) - 1)

    def scatter(self, columns: InputColumns, slots: Array, size: int, shares: Shares | None = None) -> Partials:
        values, nulls = join_columns(None, columns)
        if nulls is not None:
            values, slots = values[~nulls], slots[~nulls]
        counts = np.bincount(slots, minlength=size)
        partials = valid, alone, single, runs = self.empty(size)
        valid[:] = counts > 0
        if len(values) == np.count_nonzero(valid) and not np.isnan(values).any():
            alone[:], single[slots] = valid, values
        else:
            runs[valid] = objects(list(_runs(values, slots, counts[valid])))
        return partials

    def merge(self, a: Partials, b: Partials) -> Partials:
        return self._of_rows(super().merge(self._as_rows(a), self._as_rows(b)))

    def accumulate(self, partials: Partials, begins: Array) -> Partials:
        return self._of_rows(super().accumulate(self._as_rows(partials), begins))

    def partials(self, partials: Partials, lo: Array, hi: Array) -> Partials:
        return self._of_rows(super().partials(self._as_rows(partials), lo, hi))

    def empty(self, size: int) -> Partials:
        flags = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        return *flags, np.zeros(size, self._number), np.full(size, None, object)

    def to_column(self, partials: Partials) -> PartialColumn:
        return super().to_column(self._as_rows(partials))

    def from_column(self, column: PartialColumn) -> Partials:
        rows = super().from_column(column)
        values = chain.from_iterable(partial[2] for partial in rows[1].tolist() if partial is not None)
        if not all(map(self._fits, values)):
            raise NotCompilable(f"{self.aggregation!r}: slices hold other values than numbers of type {self._number}")
        return self._of_rows(rows)

    def _fits(self, value: Any) -> bool:
        if isinstance(value, int):
            return abs(value) <= 1 << 53 or (self._number.kind == "i" and -(1 << 63) <= value < 1 << 63)
        return isinstance(value, float) and self._number.kind == "f"

    def _as_rows(self, partials: Partials) -> Partials:
        valid, alone, single, runs = partials
        if alone.any():
            runs = runs.copy()
            runs[alone] = objects([(1, 0, (value,), (1,)) for value in single[alone].tolist()])
        return valid, runs

    def _of_rows(self, partials: Partials) -> Partials:
        valid, runs = partials
        return valid, *self.empty(len(valid))[1:3], runs

    def rank(self, every: Sequence[Aggregation], partials: Partials, lo: Array, hi: Array) -> Ranked:
        held = hi > lo
        if not held.any():
            return self._rank(every, np.zeros(0, self._number), None, np.zeros_like(lo), np.zeros_like(hi))
        first, last = int(lo[held].min()), int(hi.max())
        values, offsets = self._lay_out(take(partials, slice(first, last)))
        places = (np.clip(bounds - first, 0, last - first) for bounds in (lo, hi))
        return self._rank(every, values, None, *(offsets[place] for place in places))

    def _lay_out(self, partials: Partials) -> tuple[Array, Array]:
        """The values of slices side by side, and where those of each begin, and the end."""
        valid, alone, single, runs = partials
        if alone.all():
            return single, np.arange(len(single) + 1)
        at = np.flatnonzero(valid & ~alone)
        parts = runs[at].tolist()
        sizes, nans = alone.astype(np.int64), np.zeros(len(alone), np.int64)
        sizes[at], nans[at] = [partial[0] for partial in parts], [partial[1] for partial in parts]
        offsets = np.concatenate([[0], np.cumsum(sizes + nans)])
        values = np.empty(offsets[-1], np.float64 if nans.any() else self._number)
        values[offsets[:-1][alone]] = single[alone]
        places = offsets[at]
        distinct = np.array([value for partial in parts for value in partial[2]], self._number)
        counts = np.array([count for partial in parts for count in partial[3]], np.int64)
        values[_numbered(places, sizes[at])] = np.repeat(distinct, counts)
        if nans.any():
            values[_numbered(places + sizes[at], nans[at])] = np.nan
        return values, offsets


_ORDERED = {datetime, date, clock_time, timedelta, Decimal, Fraction, str, bytes}
"""Types whose values, if all are of one, are hashable and have one order."""


class RankedObjects(_Ranked):
    """Slices of a stream, of objects. A partial is that of rows."""

    def reduce(self, columns: InputColumns, starts: Array) -> Partials:
        slots = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return self.scatter(columns, slots, len(starts) - 1)

    def scatter(self, columns: InputColumns, slots: Array, size: int, shares: Shares | None = None) -> Partials:
        values, nulls = join_columns(None, columns)
        coded = _places((values if nulls is None else values[~nulls]).tolist())
        if coded is None:
            return super().scatter(columns, slots, size)
        (places, distinct), slots = coded, slots if nulls is None else slots[~nulls]
        for value in distinct[:1]:
            self.aggregation.lift(value)  # refuses a type that it cannot take
        counts = np.bincount(slots, minlength=size)
        valid, runs = partials = counts > 0, np.full(size, None, object)
        named = distinct.tolist()
        if not len(slots):
            return partials
        runs[valid] = objects([
            (count, nans, tuple([named[int(place)] for place in run]), repeats)
            for count, nans, run, repeats in _runs(places, slots, counts[valid])
        ])  # fmt: skip
        return partials

    def rank(self, every: Sequence[Aggregation], partials: Partials, lo: Array, hi: Array) -> Ranked:
        held = hi > lo
        first, last = (int(lo[held].min()), int(hi.max())) if held.any() else (0, 0)
        valid, runs = take(partials, slice(first, last))
        sizes, parts = np.zeros(last - first, np.int64), runs[valid].tolist()
        sizes[valid] = [count + nans for count, nans, _, _ in parts]
        laid_out: list[Any] = []
        for _, nans, values, counts in parts:
            laid_out += chain.from_iterable(map(repeat, values, counts)) if sum(counts) > len(counts) else values
            laid_out += repeat(math.nan, nans)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        begins, ends = (offsets[np.clip(bound - first, 0, last - first)] for bound in (lo, hi))
        values, distinct = _places(laid_out) or (objects(laid_out), None)
        return self._rank(every, values, None, begins, ends, distinct)


def _places(values: list[Any]) -> tuple[Array, Array] | None:
    """The place of each value among the distinct ones in their order, NaN for a float that is NaN, and these.

    None: they are of several types, or of one that is not known to be hashable and to have one order.
    """
    kinds = set(map(type, values))
    if len(kinds - {float}) > 1 or not kinds - {float} <= _ORDERED:
        return None
    real = [value for value in values if type(value) is not float] if float in kinds else values
    if float in kinds and any(type(value) is float and value == value for value in values):
        return None
    if Decimal in kinds and any(value != value for value in real):
        return None
    try:
        distinct = sorted(dict.fromkeys(real))
    except TypeError:  # times with a zone and without one
        return None
    at = dict(zip(distinct, count()))
    if len(real) == len(values):
        places = np.fromiter(map(at.__getitem__, values), np.int64, len(values))
    else:
        places = np.array([at[value] if value == value else math.nan for value in values], np.float64)
    return places, objects(distinct)


def ranked_slices(aggregation: Aggregation, dtypes: DTypes) -> RankedObjects | RankedSlices:
    """The form of a median or quantile in a stream of columns of these types."""
    return (RankedObjects if dtypes[0].kind in "mMO" else RankedSlices)(aggregation, dtypes)


def _numbered(begins: Array, sizes: Array) -> Array:
    """begins[i], begins[i] + 1, … for each i, so many as sizes[i] says."""
    return np.asarray(np.arange(sizes.sum()) + np.repeat(begins - np.cumsum(sizes) + sizes, sizes))


def _runs(values: Array, slots: Array, sizes: Array) -> Any:
    """The partial of each slice that has values: sorted, equal ones counted, NaN apart."""
    order = np.lexsort((values, slots))  # NaN comes last in each slice
    values, slots = values[order], slots[order]
    begins = np.ones(len(values), np.bool_)
    begins[1:] = (values[1:] != values[:-1]) | (slots[1:] != slots[:-1])
    begins[np.isnan(values)] = False
    at = np.flatnonzero(begins)
    ends = np.append(at[1:], len(values))
    last = np.cumsum(sizes)
    nans = np.add.reduceat(np.isnan(values), last - sizes, dtype=np.int64)
    upto = np.searchsorted(at, last)
    # of the last value of a slice, NaN behind it is not a repetition
    bound = (last - nans)[np.searchsorted(last, at, side="right")]
    counts, distinct = (np.minimum(ends, bound) - at).tolist(), values[at].tolist()
    begin = 0
    for end, size, nan in zip(upto.tolist(), sizes.tolist(), nans.tolist(), strict=True):
        yield (size - nan, nan, tuple(distinct[begin:end]), tuple(counts[begin:end]))
        begin = end

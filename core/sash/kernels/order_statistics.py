"""Exact quantiles of ranges of rows whose bounds never go back: O(1) a row that enters or leaves, after a sort.

Rows are ranked, some tens of thousands at a time. A window is then a set of ranks, one bit each, and a pointer stands
at the bit wanted. A row that enters or leaves shifts the pointer by at most one set bit:

    ranks     0 1 2 3 4 5 6 7 …      window of 5 values
    bits      1 0 1 1 0 1 0 1        pointer at rank 3: two bits below it, so it is the median

A second level of bits says which words hold any, so the next set bit is found in a few steps however thin they are.
Ranks know no types: numbers, times and anything else with an order take the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sash.aggregations.quantiles import between
from sash.kernels.inputs import Array, InputColumns, output_arrays
from sash.kernels.tiers import is_disabled
from sash.values.arrays import data_of, mask_of, objects, results_of, with_nulls
from sash.windows.base import RollingShape

__all__ = ["RankedRolling", "Ranks", "join_columns", "quantiles_of_ranges"]


CHUNK = 1 << 14
"""Rows that are ranked at a time, unless windows are a good part of that."""
FEW = 1000
"""Ranges of a chunk below which each is sorted by itself, and nothing is compiled."""
SMALL = 1 << 23
"""Rows that such ranges have together at most: to sort more takes longer than to compile."""


def quantiles_of_ranges(
    aggregation: Any, values: Array, nulls: Array | None, lo: Array, hi: Array
) -> tuple[Array, Array | None]:
    """(results, which are null or None) of rows lo[i] … hi[i] - 1 for each i; neither lo nor hi ever descends.

    One sort of the rows in chunks, and O(1) for each row that enters or leaves. Interpolated numbers are
    floats, and objects give objects.

    >>> import sash
    >>> quantiles_of_ranges(sash.Median("x"), np.array([5, 1, 3, 9]), None, np.array([0, 1]), np.array([3, 4]))
    (array([3., 3.]), None)
    """
    return Ranks([aggregation], values, nulls, lo, hi).quantiles(aggregation)


class Ranks:
    """Ranges of rows, neither bound of which ever descends, and quantiles of them, all computed in one pass.

    ``distinct``, if given, are objects in order, and ``values`` their places: so they are compared once, not by range.
    """

    def __init__(
        self,
        aggregations: Sequence[Any],
        values: Array,
        nulls: Array | None,
        lo: Array,
        hi: Array,
        distinct: Array | None = None,
    ) -> None:
        self._aggregations = list(dict.fromkeys(aggregations))
        self._distinct = distinct
        if values.dtype == object:
            for value in values if nulls is None else values[~nulls]:
                for aggregation in self._aggregations:
                    aggregation.lift(value)  # refuses what has no order
        self._values, self._lo, self._hi, self._spoilt = _drop_unordered(values, nulls, lo, hi)

    def quantiles(self, aggregation: Any) -> tuple[Array, Array | None]:
        """As :func:`quantiles_of_ranges`, of one of the aggregations."""
        return self._quantiles[aggregation]

    @cached_property
    def _quantiles(self) -> dict[Any, tuple[Array, Array | None]]:
        values, lo, hi, every = self._values, self._lo, self._hi, self._aggregations
        results = [np.zeros(len(lo), self._dtype(aggregation)) for aggregation in every]
        empty = np.zeros(len(lo), np.bool_)
        for part in _chunks(lo, hi):
            begin, sizes = int(lo[part.start]), hi[part] - lo[part]
            same = bool((sizes == sizes[0]).all())  # as most are: then NumPy has less to compute
            longest = np.maximum(sizes[: 1 if same else None] - 1, 0)
            positions = [aggregation.q * longest for aggregation in every]
            below = [_INDEX[one.interpolation](position) for one, position in zip(every, positions, strict=True)]
            chunk = values[begin : int(hi[part.stop - 1])]
            wanted = np.empty((len(every), len(sizes)), np.int64)
            for row, places in zip(wanted, below, strict=True):
                row[:] = places
            at, above = _rows_at(chunk, lo[part] - begin, hi[part] - begin, wanted)
            for which, aggregation in enumerate(every) if len(chunk) else ():
                fraction = positions[which] - below[which]
                rows = at[which], above[which]
                linear = aggregation.interpolation == "linear"
                of_rows = chunk if self._distinct is None else self._distinct[chunk.astype(np.int64)]
                results[which][part] = _interpolate(of_rows, *rows, fraction) if linear else of_rows[rows[0]]
            empty[part] = sizes == 0
        pairs = zip(every, results, strict=True)
        return {aggregation: _with_nulls(of_one, empty.copy(), self._spoilt) for aggregation, of_one in pairs}

    def _dtype(self, aggregation: Any) -> Any:
        if self._distinct is not None:
            return np.dtype(object)
        interpolates = aggregation.interpolation == "linear" and self._values.dtype != object
        return np.float64 if interpolates else self._values.dtype


def _with_nulls(results: Array, empty: Array, spoilt: Array | None) -> tuple[Array, Array | None]:
    if spoilt is not None:
        results = results if results.dtype == object else results.astype(np.float64, copy=False)
        results[spoilt] = np.nan
        empty &= ~spoilt
    if not empty.any():
        return results, None
    if results.dtype == object:
        results[empty] = None
    return results, empty


def _interpolate(values: Array, at: Array, above: Array, fraction: Array) -> Array:
    """As :func:`between`, for arrays."""
    if values.dtype == object:
        results = np.empty(len(at), object)
        triples = zip(values[at], values[above], np.broadcast_to(fraction, len(at)).tolist(), strict=True)
        results[:] = [between(*triple) for triple in triples]
        return results
    a = values[at].astype(np.float64, copy=False)
    if not fraction.any() and not np.isinf(values).any():  # 0 times infinity is NaN
        return a
    b = values[above].astype(np.float64, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        step = b - a
        if len(fraction) == 1:
            results = a + step * fraction if fraction[0] < 0.5 else b - step * (1.0 - fraction)
        else:
            results = np.where(fraction < 0.5, a + step * fraction, b - step * (1.0 - fraction))
        far = np.isinf(step)
        if far.any():
            results[far] = (a * (1.0 - fraction) + b * fraction)[far]
    return np.where(a == b, a, results)


_INDEX: dict[str, Any] = {"linear": np.floor, "lower": np.floor, "higher": np.ceil, "nearest": np.round}


def _drop_unordered(
    values: Array, nulls: Array | None, lo: Array, hi: Array
) -> tuple[Array, Array, Array, Array | None]:
    """Values without nulls and NaN, ranges of what is left, and which ranges hold NaN; None: none does."""
    nans = values != values if values.dtype.kind in "fO" else np.zeros(0, np.bool_)
    if nulls is not None:
        nans = nans & ~nulls if len(nans) else nans
    spoilt = None
    if nans.any():
        before = np.concatenate([[0], np.cumsum(nans)])
        spoilt = before[hi] > before[lo]
        nulls = nans if nulls is None else nulls | nans
    if nulls is None:
        return values, lo, hi, spoilt
    before = np.concatenate([[0], np.cumsum(~nulls)])
    return values[~nulls], before[lo], before[hi], spoilt


def _chunks(lo: Array, hi: Array) -> Iterator[slice]:
    """The ranges in parts whose rows are ranked together."""
    blocks = range(0, len(lo), CHUNK)  # which caches hold
    size = max(CHUNK, *(8 * int((hi[i : i + CHUNK] - lo[i : i + CHUNK]).max()) for i in blocks), 0)
    first = 0
    while first < len(lo):
        last = max(first + 1, int(np.searchsorted(hi, lo[first] + size, side="right")))
        yield slice(first, last)
        first = last


def _rows_at(values: Array, lo: Array, hi: Array, below: Array) -> tuple[Array, Array]:
    """The rows at each of the places ``below[k]`` of each range, were it sorted, and at the next."""
    at, above = np.zeros(below.shape, np.int64), np.zeros(below.shape, np.int64)
    if is_disabled() or (len(lo) < FEW and int((hi - lo).sum()) < SMALL):
        for i, (begin, end) in enumerate(zip(lo.tolist(), hi.tolist(), strict=True)):
            if begin < end:
                order, places = np.argsort(values[begin:end], kind="stable"), below[:, i]
                at[:, i], above[:, i] = begin + order[places], begin + order[np.minimum(places + 1, end - begin - 1)]
        return at, above
    from sash.kernels.bit_walk import walk, walk_many  # which imports Numba

    order = _order(values)
    rank = np.empty(len(order), np.int32)
    words = np.zeros((len(rank) >> 6) + 1, np.uint64)
    bits = words, np.zeros((len(words) >> 6) + 1, np.uint64)
    if len(below) == 1:
        walk(rank, order, lo, hi, below[0], *bits, at[0], above[0])
    else:
        walk_many(rank, order, lo, hi, below, *bits, at, above, np.full(len(below), -1), np.zeros(len(below), np.int64))
    return at, above


def _order(values: Array) -> Array:
    """The rows in the order of their values."""
    keys = _sort_keys(values)
    if keys is None:
        return np.argsort(values, kind="stable").astype(np.int32)
    from sash.kernels.bit_walk import sort

    order = np.empty(len(keys), np.int32)
    sort(keys, order, np.empty_like(order), np.zeros(6 << 11, np.int64))
    return order


def _sort_keys(values: Array) -> Array | None:
    """Unsigned integers in the order of numbers of 64 bits; None for other values."""
    top = np.uint64(1 << 63)
    if values.dtype == np.float64:
        bits = (values + 0.0).view(np.int64)  # -0.0 is 0.0
        return (bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.uint64) ^ top
    return values.view(np.uint64) ^ top if values.dtype == np.int64 else None


class RankedRolling:
    """One window and the rows that windows to come still need. O(1) a row after a sort of each batch."""

    def __init__(self, aggregation: Any, shape: RollingShape) -> None:
        self.aggregation = aggregation
        self._shape = shape
        self._rows = self._done = 0
        self._kept: InputColumns | None = None

    def plan(self) -> list[str]:
        """How it is run, and why."""
        compiled = "no: NUMBA_DISABLE_JIT is set" if is_disabled() else f"yes, from {FEW} windows a batch on"
        return [
            "algorithm  by ranks: one sort of the rows, then O(1) for each that enters or leaves",
            f"compiled   {compiled}",
        ]

    def feed(self, batch: InputColumns, windows: int, out: Any = None) -> Any:
        """Run a batch that completes so many windows, or leave everything as it was."""
        values, nulls = join_columns(self._kept, batch)
        before = self._rows + len(batch.arrays[0]) - len(values)  # rows that are not kept
        ends = self._shape.ends(np.arange(self._done, self._done + windows)) - before
        starts = np.maximum(ends - self._shape.range, -before)
        result = _results(Ranks([self.aggregation], values, nulls, starts, ends), self.aggregation)
        if out is not None:
            (filled,) = output_arrays(out, [result.dtype], windows, None, False)
            filled[:] = data_of(result)
            result = with_nulls(out, mask_of(result))
        tail = slice(max(0, len(values) - self._shape.range + 1), None)
        self._kept = InputColumns((values[tail].copy(),), None if nulls is None else nulls[tail].copy(), None)
        self._rows, self._done = self._rows + len(batch.arrays[0]), self._done + windows
        return result

    def feed_groups(self, batch: InputColumns, starts: Array) -> tuple[Array, Any]:
        """(the rows that complete windows, results) of every group of rows apart."""
        ends, (results,) = self.feed_groups_to([self.aggregation], batch, starts)
        return ends, results

    def feed_groups_to(
        self, aggregations: Sequence[Any], batch: InputColumns, starts: Array
    ) -> tuple[Array, list[Any]]:
        """The same for several quantiles of one column."""
        values, nulls = join_columns(None, batch)
        windows = self._shape.completed(np.diff(starts))
        begin = np.repeat(starts[:-1], windows)
        number = np.arange(len(begin)) - np.repeat(np.cumsum(windows) - windows, windows)
        ends = begin + self._shape.ends(number)
        ranks = Ranks(aggregations, values, nulls, np.maximum(ends - self._shape.range, begin), ends)
        return ends - 1, [_results(ranks, aggregation) for aggregation in aggregations]


def _results(ranks: Ranks, aggregation: Any) -> Any:
    results, empty = ranks.quantiles(aggregation)
    if results.dtype == object:
        return results_of(results.tolist(), aggregation.fields, None)
    return with_nulls(results, empty)


def join_columns(kept: InputColumns | None, batch: InputColumns) -> tuple[Array, Array | None]:
    """The values of both as Python would have them, in the widest type of their kind, and which are null."""
    (values,), nulls = batch.arrays, batch.nulls
    if values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)
    elif values.dtype.kind in "iu" and values.dtype != np.uint64:
        values = values.astype(np.int64, copy=False)
    elif values.dtype.kind not in "bu":
        values = objects(values.tolist())
        missing = np.array([value is None for value in values], np.bool_)
        nulls = missing if nulls is None else nulls | missing
    if kept is None:
        return values, nulls
    (before,) = kept.arrays
    if before.dtype != values.dtype:
        raise TypeError(
            f"the columns were of type {before.dtype} in earlier batches and are of type {values.dtype} in this one"
        )
    pairs = ((before, kept.nulls), (values, nulls))
    masks = [np.zeros(len(part), np.bool_) if mask is None else mask for part, mask in pairs]
    return np.concatenate([before, values]), None if kept.nulls is None and nulls is None else np.concatenate(masks)

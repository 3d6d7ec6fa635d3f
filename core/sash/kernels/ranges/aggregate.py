"""An aggregation compiled for slices of columns: kernels, and partials as flat arrays.

What is compiled are the functions that run row by row, so partials go to and fro between rows and columns to the bit.
Only integer sums are held in another way, in halves that cannot overflow unseen, and converted.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from time import perf_counter_ns
from typing import Any

import numpy as np

from sash.aggregations.base import LOWER_ARRAYS, Aggregation
from sash.kernels.compiled_aggregate import Array, CompiledAggregate, DTypes
from sash.kernels.inputs import InputColumns, as_columns, as_kernel_columns, as_result, readable
from sash.kernels.kinds import Kind, NotCompilable
from sash.kernels.ranges.kernels import ACCUMULATE, FUNCTIONS, KEEP, MERGE, RANGES, REDUCE, SCATTER, SLIDE, SUFFIXES
from sash.kernels.ranges.partials import (
    SHORT,
    Partials,
    RangeTotals,
    as_column,
    as_dtype,
    assign,
    by_level,
    flat,
    one_level,
    slides,
    take,
)
from sash.kernels.source import COMBINE_FLAGGED, Shape, cast, with_flag
from sash.values.arrays import narrow
from sash.values.columns import PartialColumn, unpack
from sash.values.shares import Shares, in_shares, shares_of

__all__ = ["RangesAggregate", "kernels_or_reason", "ranges_aggregate"]

MEASURED = 4096
"""So many merges tell what one takes: that they are started at all costs little beside them."""


def ranges_aggregate(aggregation: Aggregation, dtypes: DTypes, carries: bool = False) -> RangesAggregate:
    """The kernels of ``aggregation`` for columns of the types that the user's have; none for a Count of rows.

    ``carries``: for columns with nulls that are values. Behind all columns come those that tell where these nulls are.
    """
    kernels = kernels_or_reason(aggregation, dtypes, carries)
    if isinstance(kernels, str):
        raise NotCompilable(kernels)
    return kernels


@lru_cache(maxsize=256)
def kernels_or_reason(aggregation: Aggregation, dtypes: DTypes, carries: bool) -> RangesAggregate | str:
    """The same; the reason if there are none, so that no restored state asks the compiler again."""
    try:
        return _kernels_for(aggregation, dtypes, carries)
    except NotCompilable as error:
        return str(error)


def _kernels_for(aggregation: Aggregation, dtypes: DTypes, carries: bool) -> RangesAggregate:
    odd = [str(dtype) for dtype in dtypes if dtype.kind not in "biufmM"]
    times = [dtype for place, dtype in enumerate(dtypes) if place not in aggregation.time_columns or dtype.kind == "m"]
    odd += [str(dtype) for dtype in times if dtype.kind in "mM" and not aggregation.takes_ticks]
    if odd:
        raise NotCompilable(f"a column is of type {odd[0]}, not of numbers")
    return RangesAggregate(aggregation, dtypes, carries)


class RangesAggregate(CompiledAggregate):
    """Kernels of slices and of ranges of them, for columns of one set of types. It has no state."""

    def __init__(self, aggregation: Aggregation, dtypes: DTypes, carries: bool = False) -> None:
        like = as_columns(aggregation, tuple(np.empty(0, dtype) for dtype in dtypes or ("u1",)), None)
        like = as_kernel_columns(aggregation, like)
        self.aggregation = aggregation
        self._sliced = (aggregation.sliced_with_nulls if carries else aggregation.sliced)(like.dtypes[0].kind)
        inputs = tuple(map(_widest, like.dtypes)) + (np.dtype(np.bool_),) * len(aggregation.carried) * carries
        takes_tuples = aggregation.arity > 1 and aggregation._lifts_rows
        super().__init__(self._sliced.functions, inputs, takes_tuples, aggregation.name)
        to_rows = self._sliced.to_rows
        numbers = () if to_rows is None else to_rows(*self.empty(0)[1:])
        self._skeleton = _skeleton(self._kinds.partial) if to_rows is None else ("x",) * len(numbers)
        plain = self.functions.guarded or bool(aggregation.fields)
        if self._kinds.named and not plain:
            raise NotCompilable("its result is a named tuple, which columns do not hold")
        self._result_skeleton = "x" if plain else _skeleton(self._kinds.result)
        self._result_type = like.result_type
        self._narrow = None if aggregation.result_column is None else like.dtypes[aggregation.result_column]
        self.merge_ns: float | None = None
        """The time of a merge, as measured in compiled code; None: none has run yet."""
        self._skips = aggregation.arity > 1 or aggregation.lift(None) is None  # else it counts rows, null or not

    def _text(self) -> str:
        columns, (partial, result, nullable, _) = len(self.inputs), self._kinds
        bare = Shape(columns, partial, result, False, nullable, first=1)
        flagged = Shape(columns, with_flag(partial), result, True, nullable)
        return "".join([
            bare.fill(FUNCTIONS, cast=cast(partial, "y"), **self._lift_parts()),
            COMBINE_FLAGGED.format(flagged="merged", bare="combine"),
            bare.fill(REDUCE),
            bare.fill(SCATTER, nulls="", null_rows="", skip=""),
            bare.fill(SCATTER, nulls="_nulls", null_rows="nulls, ", skip="if nulls[k]: continue"),
            flagged.fill(MERGE),
            flagged.fill(ACCUMULATE),
            flagged.fill(SUFFIXES),
            flagged.fill(RANGES, emit=KEEP, merge="merged", real="_kept"),
            flagged.fill(RANGES, emit=flagged.emit(), merge="merged", real=""),
            bare.fill(RANGES, emit=bare.emit(), merge="combine", real="_real"),
            flagged.fill(SLIDE, merge="merged", real=""),
            bare.fill(SLIDE, merge="combine", real="_real"),
        ])  # fmt: skip

    def _shortcuts(self) -> dict[str, str]:
        return {"combine": "combine_given"} | ({} if self._takes_tuples else {"lift": "lift_given"})

    def reduce(self, columns: InputColumns, starts: Array) -> Partials:
        """A partial for each segment, rows starts[i] … starts[i + 1] - 1, at least one; starts ends with their number.

        ``columns`` as :func:`sash.kernels.inputs.as_columns` makes them. Nulls are skipped; a segment of nothing else
        has the identity. One merge a row.
        """
        partials = self.empty(len(starts) - 1)
        self._over_rows("reduce", columns, readable(starts, np.int64), int(starts[-1]), partials)
        return partials

    def scatter(self, columns: InputColumns, slots: Array, size: int, shares: Shares | None = None) -> Partials:
        """Row k merged into slot slots[k] of ``size``, in the order of rows. One merge a row.

        ``shares`` are parts of the rows of which no two have a row in one slot: compiled code runs them in parallel.
        """
        partials = self.empty(size)
        slots = readable(slots, np.int64)

        def scatter(begin: int, end: int) -> None:
            rows = slice(begin, end)
            self._over_rows("scatter", columns.part(rows), slots[rows], end - begin, partials)

        in_shares(scatter, shares if shares and self.scatters_compiled(columns) else [(0, len(slots))])
        return partials

    def scatter_into(self, partials: Partials, columns: InputColumns, slots: Array, rows: int) -> None:
        """Merge some more rows, of ``rows`` in all, into partials, as :meth:`scatter` does."""
        self._over_rows("scatter", columns, slots, len(slots), partials, rows)

    def scatters_compiled(self, columns: InputColumns) -> bool:
        """Whether rows are scattered by compiled code."""
        skips = columns.nulls is not None and self._skips
        return self.kernels.kernels["scatter_nulls" if skips else "scatter"].compiled is not None

    def merge(self, a: Partials, b: Partials) -> Partials:
        """a ⊕ b, one by one, a the older."""
        partials = self.empty(len(a[0]))
        self.kernels.run("merge", len(a[0]), (tuple(map(readable, a)), tuple(map(readable, b))), (partials,))
        return partials

    def accumulate(self, partials: Partials, begins: Array) -> Partials:
        """Each partial with all before it, from the last one on where ``begins`` is True, as it is of the first.

        One merge a partial.
        """
        totals = self.empty(len(begins))
        self.kernels.run("accumulate", len(begins), (tuple(map(readable, partials)), begins), (totals,))
        return totals

    def suffixes(self, partials: Partials) -> Any:
        """Each partial with all behind it: ``lcs``, for :meth:`fill_chunk`. A merge a partial, without the GIL."""
        suffixes, size = self.empty(len(partials[0])), len(partials[0])
        self.kernels.run("suffixes", size, (size, tuple(map(readable, partials))), (suffixes,))
        return suffixes

    def outputs(self, size: int) -> Any:
        """Room for the results of so many ranges: :meth:`fill_ranges` and :meth:`fill_chunk` put them there."""
        return self._outputs(size)

    def fill_ranges(self, outputs: Any, which: slice, partials: Partials, lo: Array, hi: Array) -> int:
        """What :meth:`totals` computes; how many merges it took."""
        out, nulls = outputs
        return self._ranges("", partials, lo, hi, take(out, which), nulls[which])

    def fill_chunk(
        self, outputs: Any, which: slice, lcs: Any, csa: Partials, slices: Partials, lo: Array, hi: Array
    ) -> tuple[Partials, int]:
        """The results of lcs[lo[i]], ``csa`` and the first hi[i] of the slices behind that, each merged in this order.

        Returns ``csa`` with all that the last takes in, and how many merges it took: one a range and one a slice.
        ``hi`` must not go back.
        """
        (out, nulls), first = outputs, int(lo[0])
        lcs, csa = take(lcs, slice(first, int(lo[-1]) + 1)), tuple(map(np.array, csa))
        real = "_real" if slices[0].all() and lcs[0].all() and csa[0].all() else ""
        arrays = tuple(map(readable, slices)), readable(lo - first, np.int64), readable(hi, np.int64)
        outputs = csa, take(out, which), nulls[which]
        merges = self.kernels.run(f"chunk{real}", len(lo), (*arrays, tuple(map(readable, lcs))), outputs)
        return csa, int(merges)

    def results(self, outputs: Any, order: Array | None) -> tuple[Any, Array | None]:
        """The results that were put there, in another order if one is given, and which are null."""
        out, nulls = outputs if order is None else (take(outputs[0], order), outputs[1][order])
        return self._as_results(out, nulls)

    def totals(self, partials: Partials, lo: Array, hi: Array) -> RangeTotals:
        """The results of partials lo[i] … hi[i] - 1 for each i, in any order; of none, that of no values.

        At most 2 merges a range and 2 a slice on each level, of which log₂ of the longest range can be in use:
        see :mod:`sash.kernels.ranges.partials`. Where sizes vary and bounds never go back, 3 merges a range.
        """
        out, nulls = self._outputs(len(lo))
        real = "_real" if partials[0].all() else ""  # without identities, kernels need not look for them
        if real and _are_single(lo, hi) and self._lower_at(partials, lo, out):
            return RangeTotals(*self._as_results(out, nulls), 0)
        merges = self._ranges(real, partials, lo, hi, out, nulls)
        return RangeTotals(*self._as_results(out, nulls), merges)

    def partials(self, partials: Partials, lo: Array, hi: Array) -> Partials:
        """The partials that :meth:`totals` makes its results of, by the same merges."""
        kept = self.empty(len(lo))
        self._ranges("_kept", partials, lo, hi, kept, np.zeros(len(lo), np.bool_))
        return kept

    def empty(self, size: int) -> Partials:
        """So many identities."""
        return tuple(np.zeros(size, dtype) for dtype in (np.dtype(np.bool_), *self.partial))

    def to_column(self, partials: Partials) -> PartialColumn:
        """As rows have them."""
        valid, *arrays = partials
        to_rows = self._sliced.to_rows
        return as_column(valid, arrays if to_rows is None else list(to_rows(*arrays)), self._skeleton)

    def from_column(self, column: PartialColumn) -> Partials:
        """Of what rows have; :class:`NotCompilable` if the kernels' numbers cannot be just those."""
        partials = self.empty(len(column))
        valid, *arrays = partials
        valid[:] = column.valid
        if not valid.any():
            return partials
        from_rows = self._sliced.from_rows
        try:
            numbers = flat(column, self._skeleton)
            for array, values in zip(arrays, numbers if from_rows is None else from_rows(*numbers), strict=True):
                array[valid] = as_dtype(values, array.dtype)
        except ValueError as error:
            raise NotCompilable(f"{self.aggregation!r}: partials of rows do not fit columns of this type") from error
        return partials

    def _over_rows(
        self, name: str, columns: InputColumns, places: Array, size: int, partials: Partials, expected: int = 0
    ) -> None:
        arrays = columns.arrays or (np.zeros(size, self.inputs[0]),)
        arrays = tuple(map(readable, arrays, self.inputs))
        rows = max(size, expected)
        if columns.nulls is None or not self._skips:
            self.kernels.run(name, rows, (arrays, places), (partials,))
        else:
            self.kernels.run(f"{name}_nulls", rows, (arrays, readable(columns.nulls, np.bool_), places), (partials,))

    def _outputs(self, size: int) -> tuple[Partials, Array]:
        return tuple(np.zeros(size, dtype) for dtype in self.result), np.zeros(size, np.bool_)

    def _ranges(self, form: str, partials: Partials, lo: Array, hi: Array, out: Partials, nulls: Array) -> int:
        """Fill the outputs, one a range, by the kernels of this form; the number of merges."""
        partials = tuple(map(readable, partials))
        lo, hi = readable(lo, np.int64), readable(hi, np.int64)
        varies = one_level(lo, hi) is None
        if varies and form != "_kept" and slides(lo, hi):
            name = f"slide{form}"
            cuts = _cuts_between(lo, hi) if self.kernels.kernels[name].compiled else [(0, len(lo))]
            return sum(in_shares(lambda *part: self._slide(name, partials, lo, hi, slice(*part), (out, nulls)), cuts))
        if varies and (hi <= lo).any():
            held = np.flatnonzero(hi > lo)
            part, null = take(out, held), nulls[held]
            merges = self._ranges(form, partials, lo[held], hi[held], part, null)
            nulls[:] = True
            assign((*out, nulls), held, (*part, null))
            return merges
        merges = 0
        for level, which in by_level(lo, hi):
            if which is None:
                merges += self._level(form, partials, lo, hi, level, out, nulls)
                continue
            part, null = take(out, which), nulls[which]
            merges += self._level(form, partials, lo[which], hi[which], level, part, null)
            assign((*out, nulls), which, (*part, null))
        return merges

    def _slide(self, name: str, partials: Partials, lo: Array, hi: Array, which: slice, outputs: Any) -> int:
        """Some of the ranges, whose bounds never go back; the number of merges."""
        (out, nulls), lo, hi = outputs, lo[which], hi[which]
        stack = self.empty(1 << int((hi - lo).max(initial=0)).bit_length())
        rows, filled = max(len(lo), len(partials[0])), (stack, take(out, which), nulls[which])
        return int(self.kernels.run(name, rows, (partials, lo, hi, len(stack[0]) - 1), filled))

    def _lower_at(self, partials: Partials, places: Array, out: Partials) -> bool:
        """Fill the outputs with the results of single partials, if NumPy can."""
        lower = LOWER_ARRAYS.get(self.functions.lower)
        if lower is None or len(out) > 1:
            return False
        with np.errstate(all="ignore"):
            results = lower(*(array[places] for array in partials[1:]))
        if results is not None:
            out[0][:] = results
        return results is not None

    def _level(
        self, form: str, partials: Partials, lo: Array, hi: Array, level: int, out: Partials, nulls: Array
    ) -> int:
        if level == SHORT:
            return int(self.kernels.run(f"fold{form}", len(lo), (partials, lo, hi), (out, nulls)))
        lcs, csa = self.empty(1 << level), self.empty(2 << level)
        rows, name = max(len(lo), len(partials[0])), f"totals{form}"
        compiled, begin = self.kernels.kernels[name].compiled, perf_counter_ns()
        merges = int(self.kernels.run(name, rows, (partials, lo, hi, level), (lcs, csa, out, nulls)))
        if compiled is not None and merges >= MEASURED:
            ns = (perf_counter_ns() - begin) / merges
            self.merge_ns = ns if self.merge_ns is None else min(ns, self.merge_ns)
        return merges

    def _as_results(self, out: Partials, nulls: Array) -> tuple[Any, Array | None]:
        aggregation = self.aggregation
        masked = nulls if aggregation.empty is None and nulls.any() else None
        if self._result_skeleton != "x":
            return self._as_tuples(out, nulls), masked
        result = as_result(aggregation, out, nulls, self._result_type, self.functions.guarded)
        parts = [np.ma.getdata(part) for part in (result if aggregation.fields else [result])]
        if self._narrow is not None and self._result_type is None:
            parts = [narrow(part, self._narrow) for part in parts]
        return tuple(parts) if aggregation.fields else parts[0], masked

    def _as_tuples(self, out: Partials, nulls: Array) -> Array:
        """Results that are tuples without names for their parts are objects."""
        rows = unpack(self._result_skeleton, iter([array.tolist() for array in out]), len(nulls))
        results = np.empty(len(nulls), object)
        for i, (row, null) in enumerate(zip(rows, nulls, strict=True)):
            results[i] = self.aggregation.empty if null else row
        return results


def _are_single(lo: Array, hi: Array) -> bool:
    """Whether each range is of one partial, as tumbling windows and sessions are."""
    return bool(len(lo) and hi[0] - lo[0] == 1 and (hi - lo == 1).all())


def _cuts_between(lo: Array, hi: Array) -> Shares:
    """Shares of ranges that share no slice, so that the merges of each are those of all: of several keys."""
    shares = shares_of(len(lo))
    if len(shares) == 1:
        return shares
    apart = np.flatnonzero(lo[1:] >= hi[:-1]) + 1
    places = np.searchsorted(apart, [begin for begin, _ in shares[1:]])
    inner = apart[places[places < len(apart)]].tolist()
    return list(pairwise(sorted({0, *inner, len(lo)})))


def _widest(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that rows are lifted as, of 64 bits as a Python number's: so there are few kernels to compile."""
    if dtype.kind in "iu" and dtype != np.uint64:
        return np.dtype(np.int64)
    return np.dtype(np.float64) if dtype.kind == "f" else dtype


def _skeleton(kind: Kind) -> Any:
    return tuple(map(_skeleton, kind)) if isinstance(kind, tuple) else "x"

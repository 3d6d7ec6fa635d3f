"""The aggregates of a query over columns: which form each is in, and what happens when a column's type changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.kernels.fallback import PythonAggregate, warn_in_python
from sash.kernels.inputs import InputColumns, as_columns
from sash.kernels.kinds import NotCompilable
from sash.kernels.ranges.aggregate import ranges_aggregate
from sash.kernels.ranges.partials import Partials, RangeTotals
from sash.kernels.ranked_ranges import ranked_slices
from sash.state.time_columns import convert_units
from sash.values.arrays import OBJECT, as_objects, common_type, data_of, mask_of
from sash.values.columns import PartialColumn

__all__ = ["Aggregate", "LaneTotals", "as_output", "form_for", "refuse_unfit", "warn_slow"]

Array = np.ndarray[Any, Any]
DTypes = tuple[np.dtype[Any], ...]


@dataclass(frozen=True)
class Aggregate:
    """One aggregation and its form for the columns that came so far; before any came, one that needs no types."""

    aggregation: Aggregation
    form: Any
    dtypes: DTypes | None = None
    carries: bool = False
    """Whether a null has come in a column of which nulls are carried along: kernels then need to be told where."""
    where: str | None = None
    """The column of a filter, which the aggregation itself does not have: rows for which it is not true are null."""

    @staticmethod
    def unseen(aggregation: Aggregation) -> Aggregate:
        """Before any column has come."""
        bare = aggregation.unfiltered
        return Aggregate(bare, PythonAggregate(bare), where=aggregation.where)

    def fitting(self, columns: Mapping[str, Array]) -> Aggregate:
        """That for further columns: of the types so far, or of those that hold both."""
        arrays = [np.asanyarray(columns[name]) for name in self.aggregation.columns]
        dtypes = tuple(array.dtype for array in arrays)
        if self.dtypes is not None and dtypes != self.dtypes:
            dtypes = tuple(map(common_type, self.dtypes, arrays))
        carries = self.carries or (bool(arrays) and any(map(_has_nulls, _carried(self.aggregation, arrays))))
        if dtypes == self.dtypes and carries == self.carries:
            return self
        return replace(self, form=form_for(self.aggregation, dtypes, carries), dtypes=dtypes, carries=carries)

    def taking_over(self, old: Aggregate, partials: Partials) -> tuple[Aggregate, Partials]:
        """Partials of an older form as this one has them; where it cannot have them, they are objects in both."""
        if self.form is old.form:
            return self, partials
        return self.holding(convert_units(self.aggregation, old.form.to_column(partials), old.dtypes, self.dtypes))

    def holding(self, column: PartialColumn) -> tuple[Aggregate, Partials]:
        """Partials of rows, in this form or in the next best that can have them."""
        dtypes = self.dtypes or ()
        try:
            return self, self.form.from_column(column)
        except NotCompilable as error:
            if self.aggregation.carried and not self.carries:  # there may be nulls among them
                return replace(self, form=form_for(self.aggregation, dtypes, True), carries=True).holding(column)
            dtypes = tuple(OBJECT if dtype.kind in "mM" else dtype for dtype in dtypes)  # as rows have times
            form = PythonAggregate(self.aggregation, dtypes, str(error))
            return replace(self, form=form, dtypes=dtypes), form.from_column(column)

    @cached_property
    def nothing(self) -> Any:
        """The results of no window."""
        none = np.zeros(0, np.int64)
        return as_output(self.form.totals(self.form.empty(0), none, none))

    def input(self, columns: Mapping[str, Array]) -> InputColumns:
        """Its columns as kernels take them."""
        if not self.aggregation.columns:
            return InputColumns((), None, None)
        assert self.dtypes is not None
        arrays = [np.asanyarray(columns[name]) for name in self.aggregation.columns]
        skipped = None if self.where is None else _not_true(columns[self.where], self.where)
        return _input(
            self.aggregation, [*map(_cast, arrays, self.dtypes)], self.carries and self.form.compiled, skipped
        )


class LaneTotals:
    """The totals of all aggregates of a lane. Quantiles of one column are ranked together."""

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self._together: dict[Any, list[Aggregation]] = {}
        for aggregate in aggregates:
            if aggregate.aggregation.by_ranks and aggregate.form.compiled:
                self._together.setdefault(_ranked_column(aggregate), []).append(aggregate.aggregation)
        self._ranked: dict[Any, Any] = {}

    def of(self, aggregate: Aggregate, partials: Partials, lo: Array, hi: Array) -> RangeTotals:
        """The results of partials lo[i] … hi[i] - 1 for each i, of the same ranges for all aggregates."""
        form, column = aggregate.form, _ranked_column(aggregate)
        if column not in self._together:
            totals: RangeTotals = form.totals(partials, lo, hi)
            return totals
        if column not in self._ranked:
            self._ranked[column] = form.rank(self._together[column], partials, lo, hi)
        quantiles: RangeTotals = form.quantiles(self._ranked[column])
        return quantiles


def _ranked_column(aggregate: Aggregate) -> Any:
    return aggregate.aggregation.by_ranks, aggregate.aggregation.columns, aggregate.where


def _not_true(column: Array, name: str) -> Array:
    """Which rows a filter skips: those that are false or null."""
    column = np.asanyarray(column)
    if column.dtype == object:
        odd = next((value for value in column.tolist() if value is not None and not isinstance(value, bool)), None)
        if odd is not None:
            raise TypeError(f"column {name!r}: where= takes booleans; got {odd!r} of type {type(odd).__name__}")
        return ~column.astype(np.bool_)
    if column.dtype != np.bool_ and len(column):
        raise TypeError(f"column {name!r}: where= takes booleans; got values of type {column.dtype}")
    mask = mask_of(column)
    skipped: Array = ~data_of(column).astype(np.bool_)
    return skipped if mask is None else skipped | mask


def _cast(column: Array, dtype: np.dtype[Any]) -> Array:
    return as_objects(column) if dtype == OBJECT and column.dtype.kind in "mM" else column.astype(dtype, copy=False)


def form_for(aggregation: Aggregation, dtypes: DTypes, carries: bool = False) -> Any:
    """The compiled form for columns of these types, or, with the reason, one in Python."""
    try:
        if aggregation.by_ranks:
            return ranked_slices(aggregation, dtypes)
        return ranges_aggregate(aggregation, dtypes, carries)
    except NotCompilable as error:
        return PythonAggregate(aggregation, dtypes, str(error))


def _carried(aggregation: Aggregation, columns: Sequence[Array]) -> list[Array]:
    """The columns of which nulls are carried along."""
    return [columns[place] for place in aggregation.carried]


def _has_nulls(column: Array) -> bool:
    """Whether a column has nulls for which its type has no value of its own."""
    return column.dtype.kind not in "mMO" and mask_of(column) is not None


def _input(aggregation: Aggregation, columns: list[Array], carries: bool, skipped: Array | None) -> InputColumns:
    """Columns for kernels; if they carry nulls, with further columns that tell where these are."""
    if not carries:
        return as_columns(aggregation, columns, skipped)
    bare = [data_of(column) if place in aggregation.carried else column for place, column in enumerate(columns)]
    inputs = as_columns(aggregation, bare, skipped)
    flags = [
        np.zeros(len(column), np.bool_) if (mask := mask_of(column)) is None else mask
        for column in _carried(aggregation, columns)
    ]
    return inputs._replace(arrays=(*inputs.arrays, *flags))


def refuse_unfit(aggregates: Sequence[Aggregate], columns: Mapping[str, Array]) -> None:
    """Raise now what else would be raised when rows that have to wait are sliced, and ever again then."""
    size = len(next(iter(columns.values()), ()))
    for aggregate in aggregates:
        fitting = aggregate.fitting(columns)
        inputs = fitting.input(columns)
        form = fitting.form
        if not (form.compiled and form.builtin):  # whether values can be aggregated only they themselves tell
            fitting.form.reduce(inputs, np.arange(size + 1))


def as_output(totals: RangeTotals) -> Any:
    """Results as the user gets them: numbers that are null are masked, objects are None."""
    results, nulls, _ = totals
    if nulls is None:
        return results
    if isinstance(results, tuple):
        return tuple(_masked(part, nulls) for part in results)
    return _masked(results, nulls)


def _masked(results: Array, nulls: Array) -> Array:
    if results.dtype == object:
        return results
    masked: Array = np.ma.MaskedArray(results, nulls)  # type: ignore[no-untyped-call]
    return masked


def warn_slow(aggregates: Sequence[Aggregate]) -> None:
    """Say which aggregates run row by row in Python, and why."""
    slow = [aggregate for aggregate in aggregates if aggregate.dtypes is not None and not aggregate.form.compiled]
    if slow:
        others = f" (and {len(slow) - 1} more)" if len(slow) > 1 else ""
        warn_in_python(f"{slow[0].aggregation!r}{others}", slow[0].form.reason)

"""The aggregates of a query over columns: which form each is in, and what happens when a column's type changes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.kernels.columns import Columns, as_columns
from sash.kernels.compiling import NotCompilable
from sash.kernels.slicing import Partials, Totals, interpreted_form, slicing_form

__all__ = ["Aggregate", "as_output", "both", "refuse_unfit", "warn_slow"]

Array = np.ndarray[Any, Any]
DTypes = tuple[np.dtype[Any], ...]
OBJECT = np.dtype(object)


@dataclass(frozen=True)
class Aggregate:
    """One aggregation and its form for the columns that came so far; before any came, one that needs no types."""

    aggregation: Aggregation
    form: Any
    dtypes: DTypes | None = None

    @staticmethod
    def unseen(aggregation: Aggregation) -> Aggregate:
        """Before any column has come."""
        return Aggregate(aggregation, interpreted_form(aggregation))

    def fitting(self, columns: Mapping[str, Array]) -> Aggregate:
        """That for further columns: of the types so far, or of those that hold both."""
        given = tuple(np.asanyarray(columns[name]).dtype for name in self.aggregation.columns)
        if given == self.dtypes:
            return self
        dtypes = given if self.dtypes is None else tuple(map(both, self.dtypes, given))
        return self if dtypes == self.dtypes else Aggregate(self.aggregation, _form(self.aggregation, dtypes), dtypes)

    def taking_over(self, old: Aggregate, partials: Partials) -> tuple[Aggregate, Partials]:
        """Partials of an older form as this one has them; where it cannot have them, they are objects in both."""
        if self.form is old.form:
            return self, partials
        column = old.form.to_column(partials)
        try:
            return self, self.form.from_column(column)
        except NotCompilable as error:
            form = interpreted_form(self.aggregation, self.dtypes or (), str(error))
            return Aggregate(self.aggregation, form, self.dtypes), form.from_column(column)

    @cached_property
    def nothing(self) -> Any:
        """The results of no window."""
        none = np.zeros(0, np.int64)
        return as_output(self.form.totals(self.form.empty(0), none, none))

    def input(self, columns: Mapping[str, Array]) -> Columns:
        """Its columns as kernels take them."""
        if not self.aggregation.columns:
            return Columns((), None, None)
        assert self.dtypes is not None
        given = [np.asanyarray(columns[name]) for name in self.aggregation.columns]
        cast = [each.astype(dtype, copy=False) for each, dtype in zip(given, self.dtypes, strict=True)]
        return as_columns(self.aggregation, cast, None)


def both(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The type of columns that hold values of both: of numbers only if none is changed by it."""
    if a == b:
        return a
    try:
        joint = np.promote_types(a, b)
    except TypeError:
        return OBJECT
    return OBJECT if joint.kind == "f" and "f" not in (a.kind, b.kind) else joint


def _form(aggregation: Aggregation, dtypes: DTypes) -> Any:
    try:
        form = slicing_form(aggregation, dtypes)
        none = form.empty(0)  # what cannot be compiled is to show now, not in the middle of a batch
        empty = as_columns(aggregation, [np.empty(0, dtype) for dtype in dtypes], None) if dtypes else None
        form.reduce(empty or Columns((), None, None), np.zeros(1, np.int64))
        form.merge(none, none)
    except NotCompilable as error:
        return interpreted_form(aggregation, dtypes, str(error))
    return form


def refuse_unfit(aggregates: Sequence[Aggregate], columns: Mapping[str, Array]) -> None:
    """Raise now what else would be raised when rows that have to wait are sliced, and ever again then."""
    size = len(next(iter(columns.values()), ()))
    for each in aggregates:
        fitting = each.fitting(columns)
        given = fitting.input(columns)
        if not fitting.form.compiled:  # whether values can be aggregated only they themselves tell
            fitting.form.reduce(given, np.arange(size + 1))


def as_output(totals: Totals) -> Any:
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
    from sash.rolling import PerformanceWarning

    slow = [each for each in aggregates if each.dtypes is not None and not each.form.compiled]
    for each in slow[:1]:
        others = f" (and {len(slow) - 1} more)" if len(slow) > 1 else ""
        message = f"{each.aggregation!r}{others} runs row by row in Python, which is slower: {each.form.reason}"
        warnings.warn(message, PerformanceWarning, stacklevel=_caller())


def _caller() -> int:
    """How many frames up the user's code is."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("sash."):
        depth, frame = depth + 1, frame.f_back
    return depth

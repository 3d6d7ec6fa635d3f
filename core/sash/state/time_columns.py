"""Times and values of rows as columns, without any change, and timestamps in partials in other units.

Times are int64 or float64, with the lowest value of the type for "none" and the highest for "after all". Rows may mix
whole numbers and floats: such a column holds Python objects, None and ``inf``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.values.arrays import Array, array_of, in_micros, objects, to_list
from sash.values.columns import PartialColumn

__all__ = ["TIME_BOUNDS", "cast_times", "convert_units", "exact_column", "join_times", "time_column", "time_list"]

TIME_BOUNDS: dict[np.dtype[Any], tuple[Any, Any]] = {
    np.dtype(np.float64): (np.float64(-np.inf), np.float64(np.inf)),
    np.dtype(np.int64): (np.int64(-(2**63)), np.int64(2**63 - 1)),
    np.dtype(object): (None, math.inf),
}
"""What stands for no time, and for one after all others, by the type of times."""


def time_column(times: Sequence[Any]) -> Array:
    """A column of times, where None is none and ``inf`` is after all. O(n).

    >>> time_column([None, 3, math.inf])[1:], time_column([1, 2.5]).dtype
    (array([                  3, 9223372036854775807]), dtype('O'))
    >>> time_column([np.float64(3), None]), time_column([1.5, None])
    (array([np.float64(3.0), None], dtype=object), array([ 1.5, -inf]))
    """
    kinds = set(map(type, times))
    if kinds - {int} and kinds != {float}:
        return _mixed_time_column(times)
    try:
        column = np.array(times, np.float64 if float in kinds else np.int64)
    except OverflowError:
        return objects(times)
    low, high = TIME_BOUNDS[column.dtype]
    taken = int in kinds and (column.min() == low or column.max() == high)
    return objects(times) if taken else column


def _mixed_time_column(times: Sequence[Any]) -> Array:
    """A column of times of which some are none or after all, or which are of several types."""
    real = [time for time in times if time is not None and time not in (math.inf, -math.inf)]
    kinds = set(map(type, real))
    column = time_column(real) if kinds <= {int} or kinds == {float} else objects(real)
    if column.dtype == object:
        return objects(times)
    return _typed(times, column.dtype)


def _typed(times: Sequence[Any], dtype: np.dtype[Any]) -> Array:
    low, high = TIME_BOUNDS[dtype]
    ends = {None: low, -math.inf: low, math.inf: high}
    return np.array([ends.get(time, time) for time in times], dtype)


def cast_times(times: Array, dtype: np.dtype[Any]) -> Array:
    """A column of times in another type, with that type's bounds. O(n), O(1) if it is of that type."""
    return times if times.dtype == dtype else _typed(time_list(times), dtype)


def time_list(times: Array) -> list[Any]:
    """The reverse of :func:`time_column`.

    >>> time_list(time_column([None, 3, math.inf]))
    [None, 3, inf]
    """
    low, high = TIME_BOUNDS[times.dtype]
    if times.dtype == object or not len(times) or not ((times == low) | (times == high)).any():
        return list(times.tolist())
    ends = {low.item(): None, high.item(): math.inf}
    return [ends.get(time, time) for time in times.tolist()]


def join_times(columns: Sequence[Array]) -> Array:
    """Columns of times, one after the other; no time changes. O(n)."""
    columns = [column for column in columns if len(column)] or list(columns[:1])
    if len({column.dtype for column in columns}) > 1:
        columns = [objects(time_list(column)) for column in columns]
    return np.concatenate(columns)


def exact_column(values: Sequence[Any]) -> Array:
    """A column that keeps each value's type: of numbers if they are all of one type, else of objects. O(n)."""
    return objects(values) if len(set(map(type, values)) - {type(None)}) > 1 else array_of(values)


def convert_units(
    aggregation: Aggregation, column: PartialColumn, old: Sequence[Any] | None, new: Sequence[Any] | None
) -> PartialColumn:
    """Partials of columns of the types ``old`` as if these had the types ``new``. O(1) if no timestamp changes.

    A timestamp in a partial is an integer in the unit of its column. Where the new type is no timestamp, it becomes
    the object that rows hold.
    """
    pairs = [(np.dtype(before), np.dtype(after)) for before, after in zip(old or (), new or (), strict=False)]
    changed = any(before.kind in "mM" and before != after for before, after in pairs)
    if not changed or aggregation.result_column is None or not aggregation.takes_ticks:
        return column  # its partials hold no numbers of timestamps

    def convert(value: Any, place: int) -> Any:
        before, after = pairs[place]
        if before.kind not in "mM" or before == after:
            return value
        moment = np.array([value], np.int64).view(before)
        return to_list(in_micros(moment))[0] if after.kind not in "mM" else int(moment.astype(after).view(np.int64)[0])

    def convert_partial(partial: Any) -> Any:
        if not isinstance(partial, tuple):
            return None if partial is None else convert(partial, 0)
        return tuple([convert(value, place if len(pairs) > 1 else 0) for place, value in enumerate(partial)])

    return PartialColumn.of([convert_partial(partial) for partial in column.to_list()])

"""Columns of times, and of values as rows have them, that come back as they were.

Times are int64 or float64, with the lowest value of the type for "none" and the highest for "behind all". Rows may mix
whole numbers and floats: such a column holds Python objects, None and ``inf``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.values.arrays import Array, objects, with_nulls

__all__ = ["exact_column", "join_times", "time_bounds", "time_column", "time_list"]

_BOUNDS = {
    np.dtype(np.float64): (np.float64(-np.inf), np.float64(np.inf)),
    np.dtype(np.int64): (np.int64(-(2**63)), np.int64(2**63 - 1)),
    np.dtype(object): (None, math.inf),
}


def time_bounds(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """What stands for no time, and for one behind all."""
    return _BOUNDS[dtype]


def time_column(times: Sequence[Any]) -> Array:
    """A column of times, where None is none and ``inf`` is behind all. O(n).

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
    low, high = time_bounds(column.dtype)
    taken = int in kinds and (column.min() == low or column.max() == high)
    return objects(times) if taken else column


def _mixed_time_column(times: Sequence[Any]) -> Array:
    """The same where some are none or behind all, or times are of several types."""
    real = [time for time in times if time is not None and time not in (math.inf, -math.inf)]
    kinds = set(map(type, real))
    column = time_column(real) if kinds <= {int} or kinds == {float} else objects(real)
    if column.dtype == object:
        return objects(times)
    low, high = time_bounds(column.dtype)
    ends = {None: low, -math.inf: low, math.inf: high}
    return np.array([ends.get(time, time) for time in times], column.dtype)


def time_list(times: Array) -> list[Any]:
    """The times that :func:`time_column` was made of.

    >>> time_list(time_column([None, 3, math.inf]))
    [None, 3, inf]
    """
    low, high = time_bounds(times.dtype)
    if times.dtype == object or not len(times) or not ((times == low) | (times == high)).any():
        return list(times.tolist())
    ends = {low.item(): None, high.item(): math.inf}
    return [ends.get(time, time) for time in times.tolist()]


def join_times(columns: Sequence[Array]) -> Array:
    """Columns of times, one behind the other, without a change of any time."""
    columns = [column for column in columns if len(column)] or list(columns[:1])
    if len({column.dtype for column in columns}) > 1:
        columns = [objects(time_list(column)) for column in columns]
    return np.concatenate(columns)


def exact_column(values: Sequence[Any]) -> Array:
    """A column of which each value comes back as it is: of numbers if they are all of one type, else of objects."""
    kinds = set(map(type, values)) - {type(None)}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind not in (bool, int, float):
        return objects(values)
    nulls = np.fromiter((value is None for value in values), bool, len(values))
    try:
        return with_nulls(np.array([kind() if value is None else value for value in values], kind), nulls)
    except OverflowError:
        return objects(values)

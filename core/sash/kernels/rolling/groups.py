"""Many groups in one call: rows put in the order of their groups, and one kernel that runs over them all."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernels.inputs import Array, InputColumns, as_kernel_columns, as_result, readable
from sash.kernels.rolling.runner import Arrays
from sash.kernels.rolling.windows import CompiledRolling
from sash.kernels.row_passes import group_order, group_starts, is_sorted

__all__ = ["by_group", "grouped"]

_STRETCH = 1 << 14  # rows whose results stay in the cache until they are chosen from


def grouped(codes: Any, size: int) -> tuple[Array | None, Array]:
    """(the order of rows that has them group by group, None if they are; where each group begins)."""
    array = np.asarray(codes)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise TypeError(f"codes must be whole numbers in one dimension; got {array.dtype} of the shape {array.shape}")
    if len(array) != size:
        raise ValueError(f"codes and values must be of one length; got {len(array)} and {size}")
    if not size:
        return None, np.zeros(1, np.int64)
    array = np.ascontiguousarray(array, np.int64)
    first, last = int(array[0]), int(array[-1])
    if 0 <= first <= last <= _most(size) and is_sorted(array):
        return None, np.searchsorted(array, np.arange(last + 2)).astype(np.int64, copy=False)
    low, high = int(array.min()), int(array.max())
    if low < 0:
        raise ValueError(f"codes must not be negative; row {int(array.argmin())} has {low}")
    if high > _most(size):
        raise ValueError(f"codes must be numbered from 0 on, most of them used; got {high} for {size} rows")
    starts = group_starts(array, high + 1)
    return group_order(array, starts), starts


def _most(size: int) -> int:
    return 4 * size + 1023


def by_group(window: CompiledRolling, batch: InputColumns, starts: Array, windows: int) -> tuple[Array, Any]:
    """The ends and results of all groups' windows, of which there are so many."""
    batch = as_kernel_columns(window.aggregation, batch)
    columns = tuple(map(readable, batch.arrays if batch.nulls is None else (*batch.arrays, batch.nulls)))
    aggregate = window.aggregate
    out = tuple(np.empty(windows, dtype) for dtype in aggregate.result)
    nulls = np.zeros(windows if aggregate.nullable else 0, np.bool_)
    ends = np.empty(windows, np.int64)
    # our own functions may run over windows across groups, the user's could fail on them
    as_one = window.slide == 1 and not window.early and aggregate.builtin
    (_as_one if as_one else _one_by_one)(window, columns, starts, out, nulls, ends)
    return ends, as_result(window.aggregation, out, nulls, batch.result_type, aggregate.functions.guarded)


def _as_one(window: CompiledRolling, columns: Arrays, starts: Array, out: Arrays, nulls: Array, ends: Array) -> None:
    """With slide 1 the full windows of a group are windows of the whole column: those across groups are left out."""
    runner, size = window.runner, max(_STRETCH, window.range)
    results = tuple(np.empty(size, array.dtype) for array in out)
    work = (runner.state, *runner.buffers, results, np.zeros(size * bool(len(nulls)), np.bool_), out, nulls, ends)
    rows, aggregate = len(columns[0]), window.aggregate
    group, row, done = aggregate.kernels.run("groups_as_one", rows, (columns, starts, 0, 0, window.range), (*work, 0))
    if row < rows:  # there is NaN
        aggregate.nan_safe.kernels.run(
            "groups_as_one", rows, (columns, starts, group, row, window.range), (*work, done)
        )


def _one_by_one(
    window: CompiledRolling, columns: Arrays, starts: Array, out: Arrays, nulls: Array, ends: Array
) -> None:
    kernel = "groups_by_value" if window.slide == 1 else "groups_by_slice"
    shape, work = (window.range, window.slide, window.early), (*window.runner.buffers, out, nulls, ends)
    rows, aggregate = len(columns[0]), window.aggregate
    group, done = aggregate.kernels.run(kernel, rows, (columns, starts, 0, *shape), (*work, 0))
    if group < len(starts) - 1:  # it has NaN in it
        aggregate.nan_safe.kernels.run(kernel, rows, (columns, starts, group, *shape), (*work, done))

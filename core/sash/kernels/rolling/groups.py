"""Many groups in one call: rows put in the order of their groups, and one kernel that runs over them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sash.kernels.inputs import Array, InputColumns, as_kernel_columns, as_result, readable
from sash.kernels.partition import Partition
from sash.kernels.rolling.runner import Arrays
from sash.kernels.rolling.windows import CompiledRolling
from sash.kernels.tiers import one_pass_after
from sash.values.shares import is_sorted

__all__ = ["GroupedWindows", "by_group", "grouped", "number_windows"]

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
    if 0 <= first <= last <= _most(size):
        starts = np.empty(last + 2, np.int64)
        if _fill_starts(readable(array), starts):
            return None, starts
    low, high = int(array.min()), int(array.max())
    if low < 0:
        raise ValueError(f"codes must not be negative; row {int(array.argmin())} has {low}")
    if high > _most(size):
        raise ValueError(f"codes must be numbered from 0 on, most of them used; got {high} for {size} rows")
    partition = Partition(array, high + 1)
    return partition.order(), partition.starts


def _fill_starts_vectorised(codes: Array, starts: Array) -> bool:
    if not is_sorted(codes):
        return False
    starts[:] = np.searchsorted(codes, np.arange(len(starts)))
    return True


@one_pass_after(_fill_starts_vectorised)
def _fill_starts(codes: Array, starts: Array) -> bool:
    """Fill in where each group begins, and the end; False if rows do not come group by group."""
    before = -1
    last = starts.shape[0] - 2
    for row in range(codes.shape[0]):
        code = codes[row]
        if code != before:
            if code < before or code > last:
                return False
            for group in range(before + 1, code + 1):
                starts[group] = row
            before = code
    for group in range(before + 1, last + 2):
        starts[group] = codes.shape[0]
    return True


def _most(size: int) -> int:
    return 4 * size + 1023


class GroupedWindows:
    """The windows of groups of rows, group g being rows starts[g] … starts[g + 1] - 1.

    Results of group g have the places from before[g] on, so that shares of the groups can run at the same time.
    ``create`` makes a window without state.
    """

    def __init__(
        self,
        create: Callable[[], CompiledRolling],
        batch: InputColumns,
        starts: Array,
        before: Array,
        with_ends: bool = False,
    ) -> None:
        self._create, self._starts, self._before, self._window = create, starts, before, create()
        self._batch = batch = as_kernel_columns(self._window.aggregation, batch)
        self._columns = tuple(map(readable, batch.arrays if batch.nulls is None else (*batch.arrays, batch.nulls)))
        aggregate, windows = self._window.aggregate, int(before[-1])
        self._out = tuple(np.empty(windows, dtype) for dtype in aggregate.result)
        self._nulls = np.zeros(windows * aggregate.nullable, np.bool_)
        self.ends = np.empty(windows * with_ends, np.int64)
        """The rows in which windows end, if asked for."""

    def run(self, first: int, last: int) -> None:
        """Run groups ``first`` to ``last`` - 1."""
        begin, end = self._starts[first], self._starts[last]
        place = slice(self._before[first], self._before[last])
        columns, starts = tuple(column[begin:end] for column in self._columns), self._starts[first : last + 1] - begin
        out, nulls, ends = tuple(array[place] for array in self._out), self._nulls[place], self.ends[place]
        window = self._create()
        # our own functions may run over windows across groups, the user's could fail on them
        as_one = window.slide == 1 and not window.early and window.aggregate.builtin
        (_as_one if as_one else _one_by_one)(window, columns, starts, out, nulls, ends)
        if begin:
            ends += begin

    def results(self) -> Any:
        """The results of all groups, in their places."""
        window = self._window
        guarded = window.aggregate.functions.guarded
        return as_result(window.aggregation, self._out, self._nulls, self._batch.result_type, guarded)

    def columns(self) -> list[Any]:
        """The results, as of one aggregation of several."""
        return [self.results()]


def by_group(window: CompiledRolling, batch: InputColumns, starts: Array, before: Array) -> tuple[Array, Any]:
    """The ends and results of all groups' windows; those of group g have the places from before[g] on."""
    grouped_windows = GroupedWindows(lambda: window, batch, starts, before, with_ends=True)
    grouped_windows.run(0, len(starts) - 1)
    return grouped_windows.ends, grouped_windows.results()


def _number_vectorised(before: Array, first: int, slide: int, range_: int, start: Array, end: Array) -> None:
    place = slice(before[0], before[-1])
    end[place] = first + slide * (np.arange(before[0], before[-1]) - np.repeat(before[:-1], np.diff(before)))
    start[place] = np.maximum(end[place] - range_, 0)


@one_pass_after(_number_vectorised)
def number_windows(before: Array, first: int, slide: int, range_: int, start: Array, end: Array) -> None:
    """Write where count windows start and end, in rows of their group: those of group g from place before[g] on.

    ``first`` is where the first window of a group ends.
    """
    for g in range(before.shape[0] - 1):
        position = first
        for k in range(np.uint64(before[g]), np.uint64(before[g + 1])):
            end[k] = position
            start[k] = max(position - range_, 0)
            position += slide


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

"""Many groups in one call: rows put in the order of their groups, and one kernel led over them all."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from sash.kernels.rolling.compiled import Compiled
from sash.kernels.rolling.fallback import Interpreted
from sash.kernels.rolling.inputs import Array, Columns, as_kernel_columns, as_result
from sash.kernels.rolling.runner import Arrays

__all__ = ["by_group", "grouped"]

_PIECE = 1 << 14  # rows whose results stay in the cache until they are chosen from


@numba.njit(nogil=True, cache=True)
def _ascending(codes: Array, starts: Array) -> bool:
    """Fill in where each group begins, and the end; give up if the codes do not ascend."""
    before = 0
    for row in range(codes.shape[0]):
        code = codes[row]
        if code != before:
            if code < before or code >= starts.shape[0] - 1:
                return False
            starts[before + 1 : code + 1] = row
            before = code
    starts[before + 1 :] = codes.shape[0]
    return True


@numba.njit(nogil=True, cache=True)
def _counted(codes: Array, groups: int) -> Array:
    """Where each group begins, and the end, in whatever order the rows are."""
    starts = np.zeros(groups + 1, np.int64)
    for code in codes:
        starts[code + 1] += 1
    for group in range(groups):
        starts[group + 1] += starts[group]
    return starts


@numba.njit(nogil=True, cache=True)
def _order(codes: Array, starts: Array) -> Array:
    """The rows group by group, in their order within one: counting sort."""
    place = starts[:-1].copy()
    order = np.empty(codes.shape[0], np.int64)
    for row in range(codes.shape[0]):
        code = codes[row]
        order[place[code]] = row
        place[code] += 1
    return order


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
    last = int(array[-1])  # the highest, if they ascend
    if 0 <= last <= _most(size):
        starts = np.zeros(last + 2, np.int64)
        if _ascending(array, starts):
            return None, starts
    low, high = int(array.min()), int(array.max())
    if low < 0:
        raise ValueError(f"codes must not be negative; row {int(array.argmin())} has {low}")
    if high > _most(size):
        raise ValueError(f"codes must be numbered from 0 on, most of them used; got {high} for {size} rows")
    starts = _counted(array, high + 1)
    return _order(array, starts), starts


def _most(size: int) -> int:
    return 4 * size + 1023


def by_group(runner: Compiled | Interpreted, batch: Columns, starts: Array, windows: int) -> tuple[Array, Any]:
    """The ends and results of all groups' windows, of which there are so many."""
    if isinstance(runner, Interpreted):
        return runner.feed_groups(batch, starts.tolist())
    batch = as_kernel_columns(runner.aggregation, batch)
    columns = batch.arrays if batch.nulls is None else (*batch.arrays, batch.nulls)
    columns = tuple(np.array(part) if not part.flags.writeable else np.ascontiguousarray(part) for part in columns)
    form = runner.forms.form
    out = tuple(np.empty(windows, dtype) for dtype in form.result)
    nulls = np.zeros(windows if form.nullable else 0, np.bool_)
    ends = np.empty(windows, np.int64)
    # our own functions may run over windows across groups, the user's could fail on them
    as_one = runner.slide == 1 and not runner.early and form.cached
    (_as_one if as_one else _one_by_one)(runner, columns, starts, out, nulls, ends)
    return ends, as_result(runner.aggregation, out, nulls, batch.result_type, form.guarded)


def _as_one(runner: Compiled, columns: Arrays, starts: Array, out: Arrays, nulls: Array, ends: Array) -> None:
    """With slide 1 the full windows of a group are windows of the whole column: those across groups are left out."""
    lane, room = runner.lane, max(_PIECE, runner.range)
    found = tuple(np.empty(room, array.dtype) for array in out)
    work = (runner.range, lane.state, *lane.buffers, found, np.zeros(room * bool(len(nulls)), np.bool_))
    group, row, done = runner.forms.form.run("groups_as_one", columns, starts, 0, 0, *work, out, nulls, ends, 0)
    if row < len(columns[0]):  # there is NaN
        runner.forms.wary.run("groups_as_one", columns, starts, group, row, *work, out, nulls, ends, done)


def _one_by_one(runner: Compiled, columns: Arrays, starts: Array, out: Arrays, nulls: Array, ends: Array) -> None:
    kernel = "groups_by_value" if runner.slide == 1 else "groups_by_slice"
    work = (runner.range, runner.slide, runner.early, *runner.lane.buffers)
    group, done = runner.forms.form.run(kernel, columns, starts, 0, *work, out, nulls, ends, 0)
    if group < len(starts) - 1:  # it has NaN in it
        runner.forms.wary.run(kernel, columns, starts, group, *work, out, nulls, ends, done)
